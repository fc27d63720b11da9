// Periods as the API names them. This page computes none: a browser's time zones may be older than those of the board.
const rolling = () => view.window.startsWith("last-");
const hourly = () => view.window === "hour" || view.window.endsWith("-hours");
// The definition of the window that is shown.
const defined = () => metricOf(view.metric)?.windows.find(one => one.window === view.window);
// Whether a period has ended that the definition calls the current one. A browser's clock may be wrong: then it is read each minute, not each time.
function outlived() {
  return Date.now() - board.read > MINUTE && board.metrics.some(one => one.windows.some(({period}) => Date.parse(period.ends) <= Date.now()));
}
// Whether the period of an answer is over. A rolling one is never final, but the next one has begun.
const isOver = ({state, period}) => state !== "open" || period.next !== null;
// An instant of the API is a text: what the board's clocks show, and their offset from UTC.
const shownBy = instant => Date.parse(instant.slice(0, 16) + "Z");
const offset = instant => /[+-]\d\d:\d\d$/.exec(instant)?.[0] || "";
const zone = instant => offset(instant) ? "GMT" + offset(instant).replace(/([+-])0?/, "$1").replace(":00", "") : "UTC";
const written = format => new Intl.DateTimeFormat(undefined, {...format, timeZone: "UTC"});
function when({name, starts, ends}) {
  if (!name) return "";
  if (hourly()) {
    const hour = written({day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"}), [first, last] = [starts, ends].map(shownBy);
    // Where the clocks change, or show an hour twice, their offsets tell which one is meant.
    if (offset(starts) === offset(ends) && !/T.*[+-]/.test(name)) return hour.formatRange(first, last);
    return [starts, ends].map(at => hour.format(shownBy(at)) + " " + zone(at)).join(" – ");
  }
  const first = Date.parse(starts.slice(0, 10)), whole = {month: {month: "long", year: "numeric"}, year: {year: "numeric"}}[view.window];
  if (whole) return written(whole).format(first);
  const day = written({day: "numeric", month: "short", year: "numeric"});
  // A day, and a rolling window, are named by their last day.
  const last = view.window === "day" || rolling() ? Date.parse(name) : Date.parse(ends.slice(0, 10)) - DAY;
  return (view.window === "season" ? name + " · " : "") + day.formatRange(first, last);
}
