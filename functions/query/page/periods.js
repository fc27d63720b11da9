// Periods, named as in the API: by a day or an hour in them, in the board's time zone; seasons by their names.
const rolling = () => view.window.startsWith("last-");
const hourly = () => view.window === "hour" || view.window.endsWith("-hours");
const shift = (day, days) => new Date(Date.parse(day + "T00:00:00Z") + days * 86400000).toISOString().slice(0, 10);
function local(instant) {
  const parts = Object.fromEntries(new Intl.DateTimeFormat("en-CA", {
    timeZone: board.timezone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", timeZoneName: "longOffset",
  }).formatToParts(new Date(instant)).map(one => [one.type, one.value]));
  const offset = parts.timeZoneName.replace("GMT", "") || "+00:00";
  return {day: `${parts.year}-${parts.month}-${parts.day}`, hour: `${parts.year}-${parts.month}-${parts.day}T${parts.hour}${offset}`};
}
function season(step) {
  const names = (board.seasons || []).map(one => one.name);
  return names[names.indexOf(answer.period.name) + step];
}
function neighbour(step) {
  const {start, end, name} = answer.period;
  if (name) return season(step);
  const last = Date.parse(end) - 1;
  if (hourly()) return local((rolling() ? last : step < 0 ? Date.parse(start) : last) + step * 3600000).hour;
  if (rolling()) return shift(local(last).day, step);
  return step < 0 ? local(Date.parse(start) - 1).day : local(Date.parse(end)).day;
}
// Whether a period has ended that the definition calls the current one. A browser's clock may be wrong: then it is read each minute, not each time.
function outlived() {
  return Date.now() - board.read > MINUTE && board.metrics.some(one => one.windows.some(({period}) => Date.parse(period.end) <= Date.now()));
}
function following() {
  const now = board.metrics.find(one => one.metric === view.metric).windows.find(one => one.window === view.window).period;
  if (now.name) return answer.period.name === now.name || season(1) === now.name ? "" : season(1);
  const next = neighbour(1), last = local(Date.parse(now.end) - 1);
  const reached = hourly() ? next >= last.hour : rolling() ? next >= last.day : Date.parse(answer.period.end) >= Date.parse(now.start);
  return reached ? "" : next;
}
function when({start, end, name}) {
  if (!start) return "";
  const day = {timeZone: board.timezone, day: "numeric", month: "short", year: "numeric"};
  const hour = {timeZone: board.timezone, day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"};
  const format = new Intl.DateTimeFormat(undefined, hourly() ? hour : day);
  return (name ? name + " · " : "") + format.formatRange(new Date(start), new Date(Date.parse(end) - (hourly() ? 0 : 1)));
}
