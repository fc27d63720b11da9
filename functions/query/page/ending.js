// How the period ends: what is left of it, until when late events still count, or since when it is final.
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR, CROWD = 5000, SKEW = 5 * MINUTE;
let due = "";

function ending() {
  const parts = answer?.period.end ? ended(answer) : [], key = parts.join("\n");
  if ($("ending").key === key) return;
  $("ending").key = key;
  $("ending").hidden = !parts.length;
  $("ending").dataset.is = answer?.state;
  const [said, time = ""] = parts;
  $("ending").replaceChildren(element("span", "said", said), ...(time ? [" ", element("span", "time", time)] : []));
}
function ended({state, final_at, period: {end}}) {
  if (state === "final") return ["Final", "since " + moment(final_at)];
  const open = state === "open", at = open ? end : final_at, left = Date.parse(at) - Date.now();
  // All who look see it end at once. They must not ask at once.
  if (left <= 0 && due !== at) { due = at; setTimeout(hurry, Math.random() * CROWD); }
  if (!open) {
    // A period is final some minutes after its last late event could have counted: clocks differ.
    const late = Date.parse(final_at) - SKEW;
    return ["Ended " + moment(end), Date.now() < late ? "late events still count until " + moment(late) : "final at " + moment(final_at)];
  }
  const what = rolling() ? "Rolls over" : "Ends";
  return [left > 0 ? `${what} in ${remaining(left)}` : `${what} now`, moment(end)];
}
const two = value => String(value).padStart(2, "0");
function remaining(left) {
  if (left >= DAY) return `${Math.floor(left / DAY)} d ${Math.floor(left % DAY / HOUR)} h`;
  if (left >= HOUR) return `${Math.floor(left / HOUR)} h ${two(Math.floor(left % HOUR / MINUTE))} min`;
  return `${Math.floor(left / MINUTE)} min ${two(Math.floor(left % MINUTE / SECOND))} s`;
}
// In the time zone of the board, which it names.
function moment(at) {
  return new Intl.DateTimeFormat(undefined, {timeZone: board.timezone, weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", timeZoneName: "short"}).format(new Date(at));
}
setInterval(ending, SECOND);
