// Words, numbers and elements.
const metricOf = (name, of = board) => of?.metrics.find(one => one.metric === name);
// A number of a metric has all of its decimals: those of a column stand below each other.
function amount(value, metric = view.metric, of = board) {
  const {precision = 0, unit} = metricOf(metric, of) || {};
  return unit === "time" ? clockOf(value, precision) : number(value, precision);
}
// What stands beside numbers of a metric, such as km; nothing beside times.
const measure = (metric, of = board) => { const {unit = ""} = metricOf(metric, of) || {}; return unit === "time" ? "" : unit; };
const words = metric => metric.replaceAll("_", " ");
// The head of a column of a metric's numbers: Score (km).
const headed = (name, metric) => ["", name].includes(measure(metric)) ? name : `${name} (${measure(metric)})`;
function ordinal(value) {
  const last = value % 100 > 10 && value % 100 < 14 ? 0 : value % 10;
  return number(value) + (["th", "st", "nd", "rd"][last] || "th");
}
function ago(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 90) return seconds + " s ago";
  if (seconds < 5400) return Math.round(seconds / 60) + " min ago";
  return seconds < 172800 ? Math.round(seconds / 3600) + " h ago" : Math.round(seconds / 86400) + " days ago";
}
function element(name, style = "", text = "") {
  const made = document.createElement(name);
  if (style) made.className = style;
  if (text) made.textContent = text;
  return made;
}
// The name of a metric behind a score: 1 point, 2 points, 1.0 points; 12 km distance, and 12 km.
function unit(score, metric, of = board) {
  const many = words(metric), {precision, unit} = metricOf(metric, of) || {}, beside = measure(metric, of);
  if (unit) return beside && beside !== many ? `${beside} ${many}` : many;
  return Math.abs(score) === 1 && !precision ? many.replace(/(ss|x|ch|sh)es$|(?<![siu])s$/, "$1") : many;
}
const shownAs = one => one.profile?.name || one.member;
const countryOf = code => new Intl.DisplayNames(undefined, {type: "region"}).of(code);
const noted = () => metricOf(view.metric)?.notes;
const remark = note => Object.entries(note || {}).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(" · ");
