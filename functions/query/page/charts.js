// Drawings: the history of a member's rank, and how many members have which score.

// Periods that ended hardly change: read the history once for each member and ranking. The running one is that of the card.
async function history_(mine) {
  const {member} = view, key = JSON.stringify([current, member]);
  if (!answer.period.name) { $("past").replaceChildren(); return; }
  if (told.key !== key) {
    const found = await get(ranking() + "/history" + query({member, periods: PERIODS}));
    if (mine !== asked || member !== view.member) return;
    told = {key, periods: found.periods};
  }
  const {rank, score, tie_breaks} = standing, [newest, ...ended] = told.periods;
  stretch([...ended.toReversed(), {...newest, rank, score, tie_breaks, total: answer.total}]);
}
function stretch(periods) {
  const ranks = periods.map(one => one.rank), known = ranks.filter(rank => rank !== null), key = JSON.stringify(periods);
  if (known.length < 2) { $("past").replaceChildren(); return; }
  if ($("past").firstChild && $("past").key === key) return;
  $("past").key = key;
  const best = Math.min(...known), worst = Math.max(...known), svg = drawing(`Rank in ${periods.length} periods, between ${ordinal(best)} and ${ordinal(worst)}. A list follows.`);
  // The first rank is at the top. A period without a rank interrupts the line.
  const at = place => `${(place + .5) * 100 / ranks.length} ${worst === best ? 20 : 4 + 32 * (ranks[place] - best) / (worst - best)}`;
  const points = [...ranks.keys()].filter(place => ranks[place] !== null);
  shape(svg, "path", {d: points.map(place => (place && ranks[place - 1] !== null ? "L" : "M") + at(place)).join("")});
  shape(svg, "path", {d: points.map(place => `M${at(place)}h0`).join(""), class: "dots"});
  const list = element("ol", "aside");
  list.append(...periods.map(one => element("li", "", `${when(one.period)}: ${one.rank === null ? "not ranked" : [`${ordinal(one.rank)} of ${number(one.total)}`, amount(one.score), ...tiesOf(one)].join(", ")}`)));
  const ends = element("div", "ends");
  ends.append(element("span", "", when(periods[0].period)), element("span", "", when(periods.at(-1).period)));
  const axis = element("div", "axis"), plot = element("div", "plot");
  axis.append(element("span", "", ordinal(best)), element("span", "", best === worst ? "" : ordinal(worst)));
  plot.append(axis, svg);
  $("past").replaceChildren(element("h3", "", "Rank over time"), plot, ends, list);
}
// Its shape changes slowly. The bar of the member follows its score at once.
async function distribution(mine) {
  const old = spread?.of === current, due = !old || answer !== spread.answer && Date.now() - spread.read > DISTRIBUTION_EVERY;
  if (due) {
    const found = await get(ranking() + "/distribution" + query({buckets: BARS}));
    if (mine !== asked || !standing) return;
    spread = {of: current, answer, read: Date.now(), buckets: found.buckets};
  }
  const {buckets} = spread, here = buckets.findIndex(one => standing.score <= one.to), key = JSON.stringify([spread.read, here, standing.member]);
  if (!buckets.length || $("picture").firstChild && $("picture").key === key) return;
  $("picture").key = key;
  const most = Math.max(1, ...buckets.map(one => one.members)), width = 100 / buckets.length;
  const svg = drawing(`How many members have which score, from ${amount(buckets[0].from)} to ${amount(buckets.at(-1).to)}; ${shownAs(standing)} is in the highlighted bar`);
  buckets.forEach((one, place) => {
    // A bar with one member must be visible.
    const height = one.members ? Math.max(1, 38 * one.members / most) : 0.4;
    const bar = shape(svg, "rect", {x: place * width + width * .08, y: 40 - height, width: width * .84, height});
    if (place === (here < 0 ? buckets.length - 1 : here)) bar.classList.add("here");
  });
  const ends = element("div", "ends");
  ends.append(element("span", "", amount(buckets[0].from)), element("span", "", amount(buckets.at(-1).to)));
  $("picture").replaceChildren(element("h3", "", "All scores"), svg, ends);
}
function drawing(label) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of [["viewBox", "0 0 100 40"], ["preserveAspectRatio", "none"], ["role", "img"], ["aria-label", label]]) svg.setAttribute(name, value);
  return svg;
}
function shape(svg, kind, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  svg.append(made);
  return made;
}
