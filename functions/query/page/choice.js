// The choice of board, metric and window. Without a board the page shows all boards; a kiosk shows the first.
async function choose(push) {
  const mine = ++asked;
  clearTimeout(timer);
  standing = null;
  answer = null;
  startAgain();
  remember(push);
  if (!view.board && !kiosk && !embed) return home(mine);
  // What is wrong is told until it is right: asking again does not take it away meanwhile.
  if (wrongAt !== address()) { wrongAt = ""; scene("list"); waiting(); }
  try {
    if (!view.board) {
      const found = await get("boards?limit=1");
      if (mine !== asked) return;
      if (!found.boards.length) { state("live", "no boards yet"); empty("No board yet: the first event on one makes it."); again(); return; }
      view.board = found.boards[0].board;
    }
    if (board?.board !== view.board || outlived()) await define(mine);
    if (mine !== asked) return;
    const ranked = board.metrics.filter(one => one.windows.length);
    if (!ranked.length) return wrong("Nothing is ranked on this board.", "", []);
    const metric = view.metric ? ranked.find(one => one.metric === view.metric) : ranked[0];
    if (!metric) return noMetric(ranked);
    const window_ = view.window ? metric.windows.find(one => one.window === view.window) : metric.windows[0];
    if (!window_) return noWindow(metric);
    view.metric = metric.metric;
    view.window = window_.window;
    controls(ranked, metric);
    remember(false);
    await refresh();
  } catch (error) { if (mine === asked) failed(error); }
}
// Reads the definition of the board that is shown. Whoever has gone on meanwhile keeps that of the other board.
async function define(mine) {
  const found = await definition(view.board);
  if (mine === asked) board = Object.assign(found, {read: Date.now()});
}
// A path cannot hold these two: the browser takes them for the folder itself and the folder above.
async function definition(name) {
  if (name === "." || name === "..") throw new Problem(404, "no-such-board", "no board has this name");
  return get("boards/" + encodeURIComponent(name));
}
function controls(ranked, metric) {
  // Whoever types is not interrupted.
  if (document.activeElement !== $("member")) $("member").value = view.member;
  $("metrics-box").hidden = ranked.length < 2;
  $("metric").replaceChildren(...ranked.map(one => new Option(one.metric, one.metric, false, one.metric === view.metric)));
  const held = $("windows").contains(document.activeElement);
  $("windows").replaceChildren(...metric.windows.map(one => {
    const button = element("button", "", worded(one.window));
    button.setAttribute("aria-pressed", String(one.window === view.window));
    button.addEventListener("click", () => show({window: one.window, period: "", rank: 1}));
    return button;
  }));
  if (held) $("windows").querySelector("[aria-pressed=true]").focus({preventScroll: true});
  // Ranks of all time have no period before: nothing moves.
  $("list").classList.toggle("unmoved", view.window === "all");
  title(view.board, kiosk ? "" : " · " + view.metric);
}
const worded = name => name === "all" ? "all time" : name.replaceAll("-", " ");
function title(name, more = "") {
  $("title").replaceChildren(element("bdi", "", name), element("span", "", more));
  document.title = (view.board ? name + " · " : "") + "Standings";
}
function show(changed, push = true) {
  Object.assign(view, changed);
  choose(push);
}
