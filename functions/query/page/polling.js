// Polling, while somebody can see the page: every two seconds while the list changes or somebody uses the page, ever
// more slowly while nothing happens.
// Waits go by the browser's own time: somebody may put the clock back.
const SLOWEST = 15000, SLOWER = 1.5, UNFOCUSED = 6000, JITTER = .2;
const refused = new Map();
let pace = EVERY, flying = 0, heard = 0, barred = 0, away = 0, unseen = false, places = new Map(), current = "";

async function refresh() {
  const mine = asked, member = whose();
  let more = false;
  clearTimeout(timer);
  try {
    const path = ranking() + query({rank: view.rank, limit: kiosk ? fitting() : embed || SHOWN, profiles: "true", ...(noted() ? {notes: "true"} : {}), ...(member ? {me: member} : {})});
    const known = tags.get(path)?.answer, found = await get(path);
    if (mine !== asked) return;
    seen = Date.now();
    shownAt = performance.now();
    pace = found === known ? Math.min(SLOWEST, pace * SLOWER) : EVERY;
    const turned = answer && answer.period.name !== found.period.name;
    if (turned && !view.period || outlived()) await define(mine);
    if (mine !== asked) return;
    if (turned) startAgain();
    // Whoever went on to the running period stays with the running one.
    if (view.period && view.period === onward && !found.period.next) { view.period = ""; remember(false); }
    // Nobody is ranked: the page says why only when it knows.
    const others = answer || found.total ? null : await otherBoards();
    if (mine !== asked) return;
    if (!answer) scene("list");
    answer = found;
    if (current !== ranking() + found.period.name) before = new Map();
    current = ranking() + found.period.name;
    places.delete(member);
    if (member) places.set(member, found.me);
    note("");
    rows();
    ending();
    if (embed) framed();
    if (view.member) card();
    place();
    if (others) unused(others);
    movement(mine);
    if (view.member) await charts(mine);
    fresh();
    more = whose() && !places.has(whose());
  } catch (error) {
    if (mine !== asked) return;
    // A member that cannot be is no reason to show no list.
    if (member && error.kind === "bad-argument" && error.message.startsWith("me: ")) { refused.set(member, error.message); return refresh(); }
    failed(error);
  }
  if (mine === asked) again(more ? 0 : undefined);
}
// A page tells the place of one member. With two of them, each page tells that of the other one.
function whose() {
  const shown = kiosk || embed ? [] : [view.member, own].filter(one => one && !refused.has(one)), order = [...places.keys()];
  return shown.sort((one, other) => order.indexOf(one) - order.indexOf(other))[0];
}
function startAgain() { places = new Map(); reasons.clear(); moved = 0; $("found-name").key = ""; }
function again(rhythm = answer?.state === "final" ? SLOWEST : Math.max(pace, kiosk || document.hasFocus() ? 0 : UNFOCUSED)) {
  clearTimeout(timer);
  if (document.hidden || unseen) return;
  // Tabs that began together must not go on together.
  const wait = Math.max(heard + rhythm, barred) - performance.now() + rhythm * JITTER * Math.random();
  timer = setTimeout(next, Math.max(0, wait));
}
function next() {
  if (flying) timer = setTimeout(next, EVERY);
  else if (answer) refresh();
  // A tour that could not begin must not begin with a board of others.
  else if (tour.length && !stop) turn();
  else choose(false);
}
// How long the API wants to be left alone: as long as an answer may be kept, or as a refusal says.
function heed({headers, ok}) {
  const kept = /max-age=(\d+)/.exec(headers.get("Cache-Control") || ""), later = headers.get("Retry-After");
  const seconds = ok ? Number(kept?.[1] || 0) : /^\d+$/.test(later) ? Number(later) : (Date.parse(later) - Date.now()) / 1000 || 0;
  barred = Math.max(barred, performance.now() + seconds * 1000);
  if (!ok) away = Math.max(away, performance.now() + seconds * 1000);
}
// While the API is away, nobody hurries it.
function hurry() { if ($("state").dataset.is !== "offline") pace = EVERY; if (answer) again(); }
for (const sign of ["pointerdown", "keydown", "wheel", "focus"]) addEventListener(sign, hurry, {passive: true});
addEventListener("online", () => again());
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (answer) hurry();
  else choose(false);
});
