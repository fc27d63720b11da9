// Tie-breaks: a column each behind the score. The rank is the order, so no column sorts. A narrow screen shows them below the score.
const tieBreaks = () => Object.keys(answer.entries[0]?.tie_breaks || {});
// A member that has no number of a tie-break is behind all others.
const tieBreak = ([name, value]) => value === null ? "–" : amount(value, name);
const tiesOf = one => Object.entries(one.tie_breaks || {}).map(([name, value]) => value === null ? "no " + words(name) : `${amount(value, name)} ${unit(value, name)}`);

function columns() {
  const names = tieBreaks(), head = $("list").querySelector("thead tr"), key = [view.metric, measure(view.metric), ...names].join();
  if (head.key === key) return;
  head.key = key;
  $("list").classList.toggle("tied", names.length > 0);
  head.querySelector(".score").textContent = headed("Score", view.metric);
  for (const one of head.querySelectorAll(".tie")) one.remove();
  head.append(...names.map(name => {
    const made = element("th", "tie", headed(words(name), name));
    made.scope = "col";
    return made;
  }));
}
function ties(row, one) {
  const values = Object.entries(one.tie_breaks || {}), cells = row.querySelectorAll(".tie");
  row.querySelector(".score").dataset.ties = tiesOf(one).join("\n");
  if (cells.length === values.length) return values.forEach((value, place) => { cells[place].textContent = tieBreak(value); });
  for (const cell of cells) cell.remove();
  row.append(...values.map(value => element("td", "tie", tieBreak(value))));
}
// What is between two members: how far, and in which number; nothing between equals. A number that is missing has no distance.
function between(one, other) {
  const name = [view.metric, ...Object.keys(one.tie_breaks || {})].find(metric => inMetric(one, metric) !== inMetric(other, metric));
  if (!name) return null;
  const values = [one, other].map(each => inMetric(each, name));
  if (values.includes(null)) return "";
  // A browser computes in binary: 12345678.9 - 12345678.12 has nine decimals.
  const by = Number(Math.abs(values[0] - values[1]).toFixed(metricOf(name)?.precision ?? 9));
  return [amount(by, name), name === view.metric ? measure(name) : unit(by, name)].filter(Boolean).join(" ");
}
const inMetric = (one, metric) => metric === view.metric ? one.score : one.tie_breaks?.[metric] ?? null;
