// The kiosk: a screen on a wall. The first three stand on a podium, the list has the rows that are wholly on the screen, and boards take turns.
const tour = kiosk ? (here.get("boards") || "").split(",").map(stop => stop.trim()).filter(Boolean) : [];
// The name of a board may have colons too: it ends where a metric, or a metric and a window, can follow.
const STOP = /^(.+?)(?::([a-z][a-z0-9_]*)?)?(?::(all|hour|day|week|month|year|season|last-\d+-(?:hours|days)))?$/s;
// A day at most: the browser's timers take a number that is too large for no time at all.
const turns = 1000 * Math.min(86400, Math.max(5, parseInt(here.get("every"), 10) || 20));
const podium = element("ol"), facts = element("p"), clock = element("div"), wall = $("rows").closest("section");
let turned = -1, stop = "", turning = false;

// An upper bound of how many rows fit. Rows are at least as high as the type; fit() hides those that are too many.
function fitting() {
  const row = $("rows").firstElementChild?.offsetHeight || innerHeight / 12;
  return Math.max(3, Math.min(SHOWN, 3 + Math.ceil(innerHeight / row)));
}
// Stretches the rows so that they fill their room, and hides every row that is not wholly in it. It measures without the movement of rows that glide.
function fit() {
  const all = [...$("rows").children], room = wall.clientHeight - wall.querySelector("table").offsetTop;
  // Heads that are not shown are a pixel high.
  const heads = wall.querySelector("thead").offsetHeight, free = room - (heads > 1 ? heads : 0);
  wall.style.setProperty("--spare", "0px");
  const height = all[0]?.getBoundingClientRect().height, most = Math.max(1, Math.floor(free / height));
  if (height) wall.style.setProperty("--spare", Math.max(0, free / most - height) + "px");
  for (const row of all) row.style.visibility = row.offsetTop + row.offsetHeight <= room + 1 ? "" : "hidden";
}
// Puts the first three on the podium, and returns who is left for the list. A step is as high as its rank: equals stand level.
function stand(entries) {
  const first = entries[0]?.rank === 1 ? entries.slice(0, 3) : [], rest = entries.slice(first.length);
  document.documentElement.classList.toggle("alone", first.length > 0 && !rest.length);
  podium.hidden = !first.length;
  tell();
  const key = JSON.stringify([first, rest[0]?.rank]);
  if (podium.key === key) return rest;
  podium.key = key;
  const old = new Map([...podium.children].map(one => [one.member, one.getBoundingClientRect().left]));
  podium.replaceChildren(...first.map(one => {
    const made = element("li"), name = element("strong", "", shownAs(one)), shared = entries.filter(other => other.rank === one.rank).length > 1;
    const step = element("span", "step", (shared ? "=" : "") + one.rank);
    made.member = one.member;
    made.dataset.rank = one.rank;
    name.dir = "auto";
    made.append(face(shownAs(one), one.profile?.picture), name, element("span", "points", amount(one.score)), ...tiesOf(one).map(each => element("span", "also", each)), step);
    return made;
  }));
  shrink();
  if (still.matches || !old.size) return rest;
  for (const one of podium.children) {
    const shift = old.has(one.member) ? old.get(one.member) - one.getBoundingClientRect().left : null;
    if (shift === null) one.animate({opacity: [0, 1]}, 400);
    else if (shift) one.animate({transform: [`translateX(${shift}px)`, "none"]}, {duration: 600, easing: "cubic-bezier(.2,.7,.2,1)"});
  }
  return rest;
}
// A name whose longest word is wider than its step gets smaller type, and is broken only where that is not enough.
function shrink() {
  for (const name of podium.querySelectorAll("strong")) {
    name.style.overflowWrap = "";
    const fits = [1.05, .95, .85, .75].some(size => {
      name.style.fontSize = `max(${size}em, var(--least))`;
      return name.scrollWidth <= name.clientWidth;
    });
    if (!fits) name.style.overflowWrap = "anywhere";
  }
}
function blank() {
  document.documentElement.classList.remove("alone");
  podium.hidden = true;
  facts.replaceChildren();
}
function tell() {
  const said = [[headed(words(view.metric), view.metric), ...tieBreaks().map(words)].join(", then "), worded(view.window), when(answer.period), answer.period.name ? ended(answer)[0] : "", `${number(answer.total)} ${answer.total === 1 ? "member" : "members"}`];
  facts.replaceChildren(...said.filter(Boolean).flatMap((one, place) => [place ? " · " : "", element("span", "", one)]));
}
// Shows the next board that exists and has members. While the API is away, the shown board stays.
async function turn() {
  if (turning || document.hidden || performance.now() < away) return;
  turning = true;
  let faded = false;
  const start = turned;
  for (let tries = 1; tries <= tour.length; tries++) {
    turned = (turned + 1) % tour.length;
    const [, name, metric = "", span = here.get("window") || ""] = STOP.exec(tour[turned]);
    if (answer?.total && stop === tour[turned]) break;
    try { await get("boards/" + encodeURIComponent(name)); } catch (error) {
      if (!answer && (tries === tour.length || !lasting(error))) failed(error);
      if (lasting(error)) continue;
      // The API is away: the same turn is tried again later.
      turned = start;
      break;
    }
    if (!faded) await fade(0);
    faded = true;
    stop = tour[turned];
    Object.assign(view, {board: name, metric, window: span, period: "", rank: 1, member: ""});
    await choose(false);
    if (answer?.total) break;
  }
  if (faded) fade(1);
  if (!still.matches) clock.animate({transform: ["scaleX(0)", "scaleX(1)"]}, turns);
  turning = false;
}
async function fade(to) {
  if (!still.matches) await document.body.animate({opacity: [1 - to, to]}, {duration: 300, fill: "forwards"}).finished;
}
async function awake() {
  try { await navigator.wakeLock?.request("screen"); } catch { /* A browser may refuse, for example to save power: then the screen follows its own settings. */ }
}
function begin() {
  document.documentElement.classList.toggle("kiosk", kiosk);
  if (!kiosk) { choose(false); return; }
  wall.classList.add("wall");
  podium.id = "podium";
  podium.hidden = true;
  podium.setAttribute("aria-label", "The first three");
  facts.id = "facts";
  clock.id = "clock";
  wall.before(podium);
  $("title").after(facts);
  new ResizeObserver(() => {
    shrink();
    fit();
    if (answer?.next && fitting() > answer.entries.length) { clearTimeout(timer); timer = setTimeout(refresh, 200); }
  }).observe(wall);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) awake(); });
  awake();
  if (!tour.length) { choose(false); return; }
  document.body.append(clock);
  setInterval(turn, turns);
  turn();
}
