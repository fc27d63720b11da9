// How the period ends: what is left of it, until when late events still count, or since when it is final.
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR, CROWD = 5000, SKEW = 5 * MINUTE;
let due = "";

function ending() {
  const parts = answer?.period.name ? ended(answer) : [], key = parts.join("\n");
  if ($("ending").key === key) return;
  $("ending").key = key;
  $("ending").hidden = !parts.length;
  $("ending").dataset.is = answer?.state;
  const [said, time = ""] = parts;
  $("ending").replaceChildren(element("span", "said", said), ...(time ? [" ", element("span", "time", time)] : []));
}
function ended({state, final_at, period: {ends}}) {
  if (state === "final") return ["Final", "since " + moment(Date.parse(final_at), ends)];
  const open = state === "open", at = open ? ends : final_at, left = Date.parse(at) - Date.now();
  // All who look see it end at once. They must not ask at once.
  if (left <= 0 && due !== at) { due = at; setTimeout(hurry, Math.random() * CROWD); }
  if (!open) {
    // A period is final some minutes after its last late event could have counted: clocks differ.
    const late = Date.parse(final_at) - SKEW;
    return ["Ended " + moment(Date.parse(ends), ends), Date.now() < late ? "late events still count until " + moment(late, ends) : "final at " + moment(Date.parse(final_at), ends)];
  }
  const what = rolling() ? "Rolls over" : "Ends";
  return [left > 0 ? `${what} in ${remaining(left)}` : `${what} now`, moment(Date.parse(ends), ends)];
}
const two = value => String(value).padStart(2, "0");
function remaining(left) {
  if (left >= DAY) return `${Math.floor(left / DAY)} d ${Math.floor(left % DAY / HOUR)} h`;
  if (left >= HOUR) return `${Math.floor(left / HOUR)} h ${two(Math.floor(left % HOUR / MINUTE))} min`;
  return `${Math.floor(left / MINUTE)} min ${two(Math.floor(left % MINUTE / SECOND))} s`;
}
// With the offset from UTC that the board's clocks have at the end of the period: that of another instant, only the API knows.
function moment(at, ends) {
  const ahead = shownBy(ends) - Date.parse(ends);
  return written({weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit"}).format(at + ahead) + " " + zone(ends);
}
setInterval(ending, SECOND);
