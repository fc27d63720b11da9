// Words, numbers and elements.
function number(value, digits = 0) { return value.toLocaleString(undefined, {minimumFractionDigits: digits, maximumFractionDigits: 9}); }
const decimals = (metric, of = board) => of?.metrics.find(one => one.metric === metric)?.precision ?? 0;
// A number of a metric has all of its decimals: those of a column stand below each other.
const amount = (value, metric = view.metric, of = board) => number(value, decimals(metric, of));
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
// The name of a metric behind a score: 1 point, 2 points, 1.0 points.
function unit(score, metric, of = board) {
  const many = metric.replaceAll("_", " ");
  return Math.abs(score) === 1 && !decimals(metric, of) ? many.replace(/(ss|x|ch|sh)es$|(?<![siu])s$/, "$1") : many;
}
const shownAs = one => one.profile?.name || one.member;
const countryOf = code => new Intl.DisplayNames(undefined, {type: "region"}).of(code);
const noted = () => board.metrics.find(one => one.metric === view.metric)?.notes;
const remark = note => Object.entries(note || {}).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(" · ");
