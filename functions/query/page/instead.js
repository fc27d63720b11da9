// What the page shows instead of a list: what is wrong with the address, and links to what there is.
let wrongAt = "";
function scene(is) {
  document.documentElement.dataset.scene = is;
  $("all").hidden = is === "home";
}
function wrong(said, why, links, is = "wrong") {
  scene(is);
  wrongAt = address();
  answer = is === "unused" ? answer : null;
  if (kiosk) blank();
  state("none", "");
  note("");
  $("wrong-said").textContent = said;
  $("wrong-why").textContent = why;
  $("wrong-links").replaceChildren(...links.map(one => { const item = element("li"); item.append(one); return item; }));
  say(said);
}
async function noBoard(error) {
  const name = view.board, links = await boardsLike(name);
  if (name !== view.board) return;
  title(name);
  wrong(`There is no board “${name}”.`, error.message, links);
}
function noMetric(ranked) {
  title(view.board);
  const known = board.metrics.some(one => one.metric === view.metric);
  wrong(known ? `The metric “${view.metric}” is stored, but not ranked.` : `This board has no metric “${view.metric}”.`, "It ranks:",
    like(view.metric, ranked.map(one => one.metric)).map(name => link(name, {metric: name, window: "", period: "", rank: 1})));
}
function noWindow(metric) {
  title(view.board, " · " + metric.metric);
  wrong(`“${metric.metric}” is not ranked by “${worded(view.window)}”.`, "It is ranked by:",
    like(view.window, metric.windows.map(one => one.window)).map(name => link(worded(name), {metric: metric.metric, window: name, period: "", rank: 1})));
}
// A family in boards.toml has every name that its pattern matches: a mistyped one too. The list of boards has those with events.
async function otherBoards() {
  const name = view.board, found = await get("boards?" + new URLSearchParams({prefix: name, limit: 1}));
  return found.boards[0]?.board === name ? null : boardsLike(name);
}
function unused(others) {
  wrong(`No event has come for the board “${view.board}” yet.`, "The list appears here with the first one. " + (others.length ? "These boards have events:" : ""), others, "unused");
}
// A period, or a rank, that cannot be read. The other windows and periods stay within reach.
function unreadable(error) {
  const {kind, message} = error, ofPeriod = message.startsWith("period:"), now = defined()?.period, links = [];
  const isNow = !view.period || view.period === now?.name;
  if (!isNow) links.push(link("The current period", {period: "", rank: 1}));
  else if (view.rank > 1) links.push(link("From the first rank", {rank: 1}));
  // The API names the season before the current one if it can be read.
  if (view.window === "season" && now?.previous && now.previous !== view.period) links.push(link(now.previous, {period: now.previous, rank: 1}));
  const said = {"not-built": "This ranking is not built yet.", "period-gone": "This period is no longer kept.", "no-season-yet": "No season has begun yet."}[kind];
  $("periods").hidden = view.window === "all";
  $("when").textContent = view.period;
  $("chosen").textContent = worded(view.window);
  wrong(said || (ofPeriod ? `There is no period “${view.period}” here.` : "Nothing to show."), message, links, "unreadable");
}
const AT_MOST = 8;
async function boardsLike(name) {
  const start = name.replace(/[^A-Za-z0-9._:-]/g, "").slice(0, 3);
  const [some, near] = await Promise.all([get("boards?limit=200"), start ? get("boards?" + new URLSearchParams({prefix: start, limit: 200})) : {boards: []}]);
  const names = new Set([...near.boards, ...some.boards].map(one => one.board));
  names.delete(name);
  return like(name, [...names]).slice(0, AT_MOST).map(one => link(one, {...NOWHERE, board: one}));
}
// The names, those first that take the fewest changes of a letter to get to from the one given.
function like(given, names) {
  const far = new Map(names.map(name => [name, changes(given.toLowerCase(), name.toLowerCase())]));
  return names.toSorted((one, other) => far.get(one) - far.get(other));
}
function changes(from, to) {
  let above = Array.from({length: to.length + 1}, (_, place) => place);
  for (let row = 1; row <= from.length; row++) {
    const here = [row];
    for (let place = 1; place <= to.length; place++) here.push(Math.min(above[place] + 1, here[place - 1] + 1, above[place - 1] + (from[row - 1] !== to[place - 1])));
    above = here;
  }
  return above.at(-1);
}
