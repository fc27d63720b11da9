// The home page: the boards there are. Leader and members are read of the boards in view alone.
const BOARDS = 50, ROUND = 30000, AT_ONCE = 3, SETTLING = 150;
const inView = new Set();
let cursor = null;
const watcher = new IntersectionObserver(changed => {
  for (const {target, isIntersecting} of changed) inView[isIntersecting ? "add" : "delete"](target);
  // Whoever scrolls past a board does not want to know who leads there. An API that is busy or away is asked in its own time.
  if (!view.board && $("state").dataset.is !== "offline") { clearTimeout(timer); timer = setTimeout(look, SETTLING); }
});
async function home(mine) {
  scene("home");
  title("All boards");
  board = null;
  if (document.activeElement !== $("prefix")) $("prefix").value = view.prefix;
  const list = $("boards-there");
  if (list.dataset.prefix !== view.prefix) { fill([]); beyond(null); state("waiting", "loading"); }
  try {
    const found = await boardsFrom({});
    if (mine !== asked) return;
    note("");
    state("live", "live");
    // Whoever comes back, or reads on below, finds the further pages still there.
    const names = found.boards.map(one => one.board), old = new Map([...list.children].map(row => [row.board, row]));
    const further = found.next ? [...old.values()].filter(row => row.board > names.at(-1)) : [];
    list.dataset.prefix = view.prefix;
    fill([...names.map(name => old.get(name) || entry(name)), ...further]);
    if (!further.length) beyond(found.next);
    nothing(names.length ? "" : view.prefix ? `No board's name begins with “${view.prefix}”. Small and capital letters differ.` : "");
    $("example").textContent = `curl ${new URL("events", location)} -d '{"id": "1", "board": "my-board", "member": "me", "metrics": {"points": 50}}'`;
    $("begin").hidden = names.length > 0 || view.prefix !== "";
    await look();
  } catch (error) {
    if (mine !== asked) return;
    if (!(error instanceof Problem) || error.status !== 400) return failed(error);
    fill([]);
    beyond(null);
    delete list.dataset.prefix;
    state("none", "");
    nothing(error.message);
  }
}
const boardsFrom = given => get("boards?" + new URLSearchParams({limit: BOARDS, ...(view.prefix ? {prefix: view.prefix} : {}), ...given}));
function nothing(text) {
  $("no-boards").textContent = text;
  $("no-boards").hidden = !text;
}
function beyond(next) {
  cursor = next;
  $("more").hidden = !next;
}
// A row that stays is not drawn again, and keeps the focus.
function fill(rows) {
  const list = $("boards-there"), old = [...list.children], kept = new Set(rows), held = document.activeElement;
  if (rows.length === old.length && old.every((row, place) => row === rows[place])) return;
  for (const row of old) if (!kept.has(row)) { watcher.unobserve(row); inView.delete(row); }
  list.replaceChildren(...rows);
  for (const row of rows) watcher.observe(row);
  if (list.contains(held)) held.focus({preventScroll: true});
}
function entry(name) {
  const row = element("li"), leader = element("span", "leader"), members = element("span", "members"), changed = element("span", "changed");
  Object.assign(row, {board: name, read: 0, leader, members, changed});
  row.append(link(name, {...NOWHERE, board: name}), leader, members, changed);
  return row;
}
// One round over the boards in view, and the next some time later. The first read that fails ends the round.
async function look() {
  clearTimeout(timer);
  const mine = asked, due = [...inView].filter(row => Date.now() - row.read >= ROUND);
  let failure = null;
  await Promise.all(Array.from({length: AT_ONCE}, async () => {
    for (let row; !failure && mine === asked && !document.hidden && (row = due.shift());) if (inView.has(row)) failure = await lead(row) || failure;
  }));
  if (mine !== asked || document.hidden) return;
  if (failure) { failed(failure); return; }
  pace = EVERY;
  clearTimeout(timer);
  // Somebody may have scrolled on meanwhile.
  const more = [...inView].some(row => Date.now() - row.read >= ROUND);
  timer = setTimeout(more ? look : () => choose(false), more ? SETTLING : ROUND);
}
// Returns what went wrong, if asking again may help.
async function lead(row) {
  row.read = Date.now();
  try {
    row.definition ??= await definition(row.board);
    const metric = row.definition.metrics.find(one => one.windows.length);
    if (!metric) { row.leader.textContent = "Nothing is ranked here."; return null; }
    const window_ = metric.windows.find(one => one.window === "all") || metric.windows[0];
    const found = await get(["boards", row.board, metric.metric, window_.window].map(encodeURIComponent).join("/") + "?limit=1&profiles=true");
    const [first] = found.entries;
    row.asOf = found.as_of;
    row.members.textContent = found.total === 1 ? "1 member" : number(found.total) + " members";
    if (first) {
      const name = shownAs(first), score = element("span", "points", amount(first.score, metric.metric, row.definition)), who = element("bdi", "", name);
      score.append(element("span", "", " " + unit(first.score, metric.metric, row.definition)));
      row.leader.replaceChildren(face(name, first.profile?.picture), who, score);
    } else row.leader.textContent = isOver(found) ? "Nobody was ranked." : "Nobody is ranked yet.";
    ages();
    return null;
  } catch (error) {
    if (lasting(error)) { row.leader.textContent = "Cannot be read yet."; row.leader.title = error.message; return null; }
    row.read = 0;
    return error;
  }
}
function ages() {
  for (const row of inView) if (row.asOf) row.changed.textContent = "changed " + ago(Math.max(0, Date.now() - Date.parse(row.asOf)));
}
$("prefix").addEventListener("input", () => {
  const mine = ++typed, prefix = $("prefix").value.trim();
  setTimeout(() => { if (mine === typed && !view.board) show({prefix}, false); }, TYPING);
});
$("search").addEventListener("submit", event => { event.preventDefault(); show({prefix: $("prefix").value.trim()}, false); });
$("more").addEventListener("click", async () => {
  const mine = asked, from = cursor;
  try {
    const found = await boardsFrom({cursor: from});
    // A second click asks for the same page.
    if (mine !== asked || from !== cursor) return;
    fill([...$("boards-there").children, ...found.boards.map(one => entry(one.board))]);
    beyond(found.next);
  } catch (error) { if (mine === asked) failed(error); }
});
