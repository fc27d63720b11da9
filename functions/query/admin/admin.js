// The admin's page. Each view is read from the API by the part of the address behind #. Each change is asked first, done by a call, and read back.
"use strict";
const PATIENCE = 30000, PAUSE = 1000, LOOKS = 20, AT_ONCE = 6, CARDS = 20, LISTED = 50, WALKED = 500, LETTERS = 200, STATUSES = 10;
const $ = id => document.getElementById(id);
let token = "", flying = 0, shown = 0;
// The metrics of each board by name, as its definition has them.
const forms = {};

// ---- the API

class Problem extends Error {
  constructor(status, kind, detail) { super(detail); this.status = status; this.kind = kind; }
}
async function call(method, path, body) {
  flying++;
  try {
    const headers = {...token && {authorization: "Bearer " + token}, ...body && {"content-type": "application/json"}};
    const response = await fetch(path, {method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(PATIENCE)});
    const text = await response.text();
    let said = {};
    try { said = JSON.parse(text || "{}"); } catch (error) { if (response.ok) throw error; }
    if (response.ok) return said;
    throw new Problem(response.status, (said.type || "").replace("urn:standings:", ""), said.detail || said.message || "HTTP " + response.status);
  } finally { flying--; }
}
const get = (path, given = {}) => call("GET", path + "?" + new URLSearchParams(Object.entries(given).filter(([, value]) => value)));
const task = (name, given) => call("POST", "tasks", name.split(" ").reduceRight((inner, part) => ({[part]: inner}), given));
const memberOf = board => `boards/${encodeURIComponent(board)}/member`;
const idOf = member => "?id=" + encodeURIComponent(member);
// What a read answers, or null where there is no such thing.
const orNone = read => read.catch(error => { if (error.status === 404) return null; throw error; });
const pause = () => new Promise(done => setTimeout(done, PAUSE));
// Reads again until what was read is as it should be, some twenty times at most.
async function until(read, is) {
  for (let look = 0; look < LOOKS; look++) {
    if (look) await pause();
    if (is(await read())) return true;
  }
  return false;
}
// The values of a list after a function, some at a time, in order.
async function each(list, read) {
  const found = [], left = [...list.entries()];
  await Promise.all(Array.from({length: AT_ONCE}, async () => {
    for (let next; next = left.shift();) found[next[0]] = await read(next[1]);
  }));
  return found;
}

// ---- words and elements

// A number of a metric as people read it: 12.0 km, or seconds as 22:05 and 1:02:03.
function amount(value, {precision, unit = ""} = {}) {
  return unit === "time" ? clockOf(value, precision) : `${number(value, precision)} ${unit}`.trimEnd();
}
// A number as a form takes it: also 22:05 and 1:02:03, which are their seconds.
const NUMBER = "[\\-+.0-9eE]+|[\\-+]?[0-9]+(:[0-5][0-9]){1,2}([.][0-9]+)?";
const read = text => text.includes(":") ? Number(text.replace(/[^-+]+/, time => time.split(":").reduce((all, part) => (all * 60 + Number(part)).toFixed(9), 0))) : Number(text);
const when = text => text ? new Date(text).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "short"}) : "";
function make(name, given = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...inside.flat(Infinity).filter(one => one || one === 0));
  return made;
}
const link = (text, given) => make("a", {href: "#" + new URLSearchParams(given)}, text);
const button = (text, click) => make("button", {type: "button", click}, text);
const badge = state => make("span", {class: "badge", "data-is": state}, state);
const card = (title, ...inside) => make("section", {class: "card"}, make("h2", {tabindex: -1}, title), ...inside);
// A head that begins with # is of numbers. With `stacked` a phone shows each cell in a line of its own.
function table(caption, heads, rows, stacked = "") {
  const cell = (content, column) => make("td", {class: heads[column].startsWith("#") ? "number" : undefined, "data-of": heads[column].replace("#", "")}, content);
  return make("div", {class: "wide"}, make("table", {class: stacked}, caption ? make("caption", {}, caption) : "",
    make("thead", {}, make("tr", {}, heads.map(head => make("th", {scope: "col", class: head.startsWith("#") ? "number" : undefined}, head.replace("#", ""))))),
    make("tbody", {}, rows.map(row => make("tr", {}, row.map(cell))))));
}
// A form: fields by name, each with its label and what else its input has. `send` gets their values.
function form(label, fields, send, ...more) {
  const made = make("form", {submit: event => { event.preventDefault(); send(Object.fromEntries(new FormData(made)), event.submitter); }},
    Object.entries(fields).map(([name, {text, ...given}]) => make("div", {}, make("label", {}, text, make("input", {name, autocomplete: "off", spellcheck: "false", ...given})))),
    make("button", {}, label), ...more);
  return made;
}
const folded = (text, ...inside) => make("details", {}, make("summary", {}, text), ...inside);

// ---- asking, doing, showing that it is done

function note(text, is = "") {
  $("note").textContent = text;
  $("note").dataset.is = is;
  $("note").hidden = !text;
}
function state(is, text) { $("state").dataset.is = is; $("state").textContent = text; }
function ask(title, moves, yes, final) {
  $("ask-title").textContent = title;
  $("ask-moves").replaceChildren(...moves.map(one => make("li", {}, one)));
  $("ask-yes").textContent = yes;
  $("ask").dataset.is = final ? "final" : "";
  $("ask").returnValue = "";
  $("ask").showModal();
  $("ask-no").focus();
  return new Promise(answer => $("ask").addEventListener("close", () => answer($("ask").returnValue === "yes"), {once: true}));
}
// `change` says what it moves, does it, and returns what can be said of it afterwards.
async function change({title, moves, yes, final, act}) {
  try {
    if (!await ask(title, moves, yes, final)) return note("Nothing was changed.");
    state("waiting", "working");
    note(title.replace("?", " …"));
    const said = await act();
    await show();
    note(said, "done");
    $("view").querySelector("h2")?.focus();
  } catch (error) { failed(error); } finally { signed(); }
}
function failed(error) {
  if (error instanceof Problem && error.status === 401) return signIn(token ? "The token is not valid, or no longer: sign in again." : "");
  if (error instanceof Problem && error.status === 403) return note("The token may not do this: " + error.message);
  note(error instanceof Problem ? error.message : "The API cannot be reached: " + error.message);
  if (!(error instanceof Problem)) console.warn(error);
}

// ---- signing in

function claims() {
  try { return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), one => one.charCodeAt(0)))); } catch { return {}; }
}
function signed() {
  if ($("inside").hidden) return;
  const {sub, exp} = claims();
  state("live", token ? `signed in${sub ? " as " + sub : ""}${exp ? " until " + new Date(exp * 1000).toLocaleTimeString(undefined, {timeStyle: "short"}) : ""}` : "open: anyone may change things here");
  $("leave").hidden = !token;
}
function signIn(why) {
  token = "";
  $("sign").hidden = false;
  $("inside").hidden = true;
  $("view").replaceChildren();
  if (why) $("sign-why").textContent = why;
  state("none", "");
  $("token").focus();
}
// A task that reads one item shows whether the token, or nobody's, may do tasks.
async function enter() {
  state("waiting", "loading");
  try {
    await task("boards show", {boards: []});
    $("sign").hidden = true;
    $("inside").hidden = false;
    signed();
    await show();
  } catch (error) {
    if (error.status === 401 || error.status === 403) signIn(!token ? "" : error.status === 401 ? "This token is not valid here: it is for another stack, or has ended." : "This token lacks the scope standings/admin.");
    else { $("inside").hidden = false; failed(error); state("offline", "no answer"); }
  }
}
$("enter").addEventListener("submit", event => {
  event.preventDefault();
  token = $("token").value.trim().replace(/^Bearer /i, "");
  $("token").value = "";
  enter();
});
$("leave").addEventListener("click", () => signIn("You have signed out."));

// ---- a member's boards, and what a card of one says

// By the index; board by board where the stack has none yet. `complete` is false if there are more boards than it looks at.
async function boardsOf(member) {
  const names = [], walked = [];
  try {
    for (let cursor = ""; cursor !== null && names.length < WALKED;) {
      const page = await get("members/boards", {id: member, cursor});
      names.push(...page.boards.map(one => one.board));
      cursor = page.next;
      if (!cursor) return {names, complete: true};
    }
    return {names, complete: false};
  } catch (error) { if (!["no-such-path", "not-built"].includes(error.kind)) throw error; }
  let next = "";
  do {
    const page = await get("boards", {limit: 100, cursor: next});
    walked.push(...page.boards.map(one => one.board));
    next = page.next;
  } while (next && walked.length < WALKED);
  const found = await each(walked, board => orNone(get(memberOf(board), {id: member})));
  return {names: walked.filter((_, place) => found[place]), complete: !next};
}
const cardOf = (board, member) => orNone(get(memberOf(board), {id: member, ranks: true}).then(async found => {
  forms[board] ||= Object.fromEntries((await get("boards/" + encodeURIComponent(board))).metrics.map(one => [one.metric, one]));
  return found;
}));
// Where a member stands: "points · day: rank 3 of 120, score 1,200", one for each window that has a score.
function places(found) {
  return (found?.metrics || []).flatMap(metric => metric.windows.filter(one => one.score !== null).map(one =>
    `${metric.metric} · ${one.window}: ${one.rank ? `rank ${number(one.rank)} of ${number(one.total)}` : "not ranked"}, score ${amount(one.score, forms[found.board][metric.metric])}`));
}
// What a change has moved, one line for each place that is another one now.
function moved(before, after) {
  const [old, now] = [places(before), places(after)];
  const lines = [...old.filter(one => !now.includes(one)).map(one => "was " + one), ...now.filter(one => !old.includes(one)).map(one => "is " + one)];
  return lines.length ? "\n" + lines.join("\n") : "\nNo rank has changed.";
}

// ---- what can be done to a member

async function setHidden(board, member, hidden) {
  const before = await cardOf(board, member), inside = places(before);
  await change({
    title: hidden ? `Hide ${member} on ${board}?` : `Show ${member} on ${board}?`,
    moves: [hidden ? "It leaves every ranking of this board, and all behind it move up. Its scores stay, and its events still count." : "It comes back into every ranking with its scores, and all behind it move down.", ...inside, `“${hidden ? "Show" : "Hide"}” undoes it.`],
    yes: hidden ? "Hide" : "Show",
    async act() {
      await call("PUT", memberOf(board) + idOf(member), {hidden});
      const followed = await until(() => cardOf(board, member), now => now?.hidden === hidden && (hidden ? !ranked(now) : ranked(now) || !inside.length));
      return (hidden ? `${member} is hidden on ${board}.` : `${member} is shown on ${board}.`) + (followed ? moved(before, await cardOf(board, member)) : "\nThe ranks have not followed yet: reload in a moment.");
    },
  });
}
const ranked = found => (found?.metrics || []).flatMap(metric => metric.windows).some(window => window.rank);
// On each board that it is on now; what fails on one does not stop the others.
async function setHiddenEverywhere(member, hidden) {
  const {names, complete} = await boardsOf(member), failures = [];
  await change({
    title: `${hidden ? "Hide" : "Show"} ${member} on ${inWords(names.length)}?`,
    moves: [hidden ? "It leaves every ranking there, and all behind it move up. Its scores stay, and its events still count. A board that it comes to later shows it." : "It comes back into every ranking there with its scores, and all behind it move down.",
      named(names), complete ? "" : "It is on more boards than this page looks at: standings member hide --all-boards."].filter(Boolean),
    yes: hidden ? "Hide" : "Show",
    async act() {
      const done = (await each(names, async board => {
        try {
          if (!await orNone(get(memberOf(board), {id: member}))) return failures.push(`${board}: it is no longer there`) && "";
          await call("PUT", memberOf(board) + idOf(member), {hidden});
          return board;
        } catch (error) {
          if (error.status === 401) throw error;
          return failures.push(`${board}: ${error.message}`) && "";
        }
      })).filter(Boolean);
      const followed = !hidden || await until(() => each(done.slice(0, STATUSES), board => cardOf(board, member)), found => !found.some(ranked));
      return [`${member} is ${hidden ? "hidden" : "shown"} on ${inWords(done.length)}.`, failures.length ? `It failed on ${inWords(failures.length)}:` : "", ...failures, followed ? "" : "The ranks have not followed yet: reload in a moment."].filter(Boolean).join("\n");
    },
  });
}
const inWords = count => `${number(count)} ${count === 1 ? "board" : "boards"}`;
async function remove(board, member) {
  const before = await cardOf(board, member);
  await change({
    title: `Remove ${member} from ${board}?`, final: true, yes: "Remove",
    moves: ["All its scores on this board go, of every period, and all behind it move up.", ...places(before), "There is no way back: who posts its events again begins anew. Settled files stay."],
    async act() {
      await call("DELETE", memberOf(board) + idOf(member));
      const gone = await until(() => cardOf(board, member), now => now === null);
      return gone ? `${member} is removed from ${board}.` : `${member} was removed from ${board}, and is there again: an event has come.`;
    },
  });
}
const register = (board, member) => change({
  title: `Register ${member} on ${board}?`, yes: "Register",
  moves: [`${member} becomes a member of ${board}, without scores. No rank moves. Where members are registered, its events count from now on.`],
  async act() {
    await call("PUT", memberOf(board) + idOf(member));
    return await until(() => cardOf(board, member), now => now !== null) ? `${member} is registered on ${board}.` : "It was registered, and removed since.";
  },
});
async function rename(member, name) {
  const before = await orNone(get("members", {id: member}));
  await change({
    title: name ? `Name ${member} “${name}”?` : `Take the name of ${member} away?`, yes: "Name",
    moves: [`Everyone sees it within a minute, on all boards. Until now: ${before?.name || "no name"}. No rank moves.`],
    async act() {
      await call("PUT", "members" + idOf(member), {name: name || null});
      const now = await orNone(get("members", {id: member}));
      return now?.name ? `${member} is called ${now.name}.` : `${member} has no name.`;
    },
  });
}
async function merge(board, old, member) {
  const [from, to] = await Promise.all([cardOf(board, old), cardOf(board, member)]);
  await change({
    title: `Merge ${old} into ${member} on ${board}?`, final: true, yes: "Merge",
    moves: [`All that ${old} has counts for ${member}, in every period; ${old} is gone then.`, ...places(from).map(one => `${old}: ${one}`), ...places(to).map(one => `${member}: ${one}`),
      to ? "There is no way back: nothing remembers which number came from whom." : `${member} is not on this board yet: it is registered. There is no way back.`],
    async act() {
      const {merged} = await task("merge", {board, old, new: member});
      await until(() => cardOf(board, member), now => now && places(now).join() !== places(to).join());
      history.replaceState(null, "", "#" + new URLSearchParams({view: "member", id: member}));
      return (merged ? `${old} is merged into ${member} on ${board}.` : `${old} was merged before.`) + moved(to, await cardOf(board, member));
    },
  });
}
// Replaces or takes back what an event counted. It is an event with an id of its own, which the writer counts or refuses.
async function correct(board, member, event, metrics) {
  const id = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
  const known = await get("events", {id: event}), before = await cardOf(board, member);
  const amounts = metrics && Object.entries(metrics).map(([metric, value]) => {
    const {precision, unit} = forms[board]?.[metric] || {};
    return `${metric} ${unit === "time" ? amount(value, {precision, unit}) : number(value, precision)}`;
  }).join(", ");
  await change({
    title: metrics ? `Correct the event ${event}?` : `Take the event ${event} back?`, yes: metrics ? "Correct" : "Take back", final: !metrics,
    moves: [`The event was ${known.status} ${when(known.at)}${known.corrected ? ", and corrected since" : ""}${known.retracted ? ", and taken back since" : ""}.`,
      metrics ? `In the place of all that it counted, ${member} gets ${amounts} on ${board}. A metric without a number is taken back.` : "All that it counted is taken back, on each of its boards.", ...places(before)],
    async act() {
      const sent = metrics ? {id, correct: event, board, member, metrics} : {id, retract: event};
      const {results: [result]} = await call("POST", "events", sent);
      if (result.status === "refused") throw new Problem(400, "refused", result.detail);
      let status = null;
      await until(async () => status = await orNone(get("events", {id})), now => now !== null);
      if (status?.status === "refused") throw new Problem(400, "refused", `The correction was refused: ${status.reason}`);
      if (!status) return `The correction ${id} is on its way, and has not counted yet.`;
      await until(() => cardOf(board, member), now => places(now).join() !== places(before).join());
      return (metrics ? `The event ${event} is corrected.` : `The event ${event} is taken back.`) + moved(before, await cardOf(board, member));
    },
  });
}

const deleteBoard = board => change({
  title: `Delete the board ${board}?`, final: true, yes: "Delete",
  moves: ["All its members and their scores go, and nobody is ranked there. It takes some eleven minutes, and until then events of the board are refused.", "There is no way back. Settled files stay."],
  async act() {
    await call("DELETE", "boards/" + encodeURIComponent(board));
    const begun = await until(async () => (await task("boards show", {boards: [board]})).boards[0], now => now.state === "delete" || now.state === "deleted");
    return begun ? `${board} is being deleted. This page shows how far it is.` : `The deletion of ${board} was asked for, and has not begun yet.`;
  },
});

// ---- refused events

function letters(answer, title) {
  const ids = answer.messages.map(one => one.id), events = answer.messages.map(one => one.event).filter(Boolean);
  const more = answer.done && answer.chosen <= ids.length ? "" : answer.done ? ` The first ${ids.length} of ${number(answer.chosen)} are shown.` : ` There may be more: ${number(answer.seen)} were looked at.`;
  if (!ids.length) return [make("p", {}, "No refused event." + more)];
  const several = ids.length > 1 && make("div", {class: "group"}, button(`Replay these ${ids.length}`, () => replay(ids, events)), button(`Drop these ${ids.length}`, () => drop(ids, events)));
  return [table(title + more, ["Event", "Reason", "For", "Sent", "Do"], answer.messages.map(one => [
    make("span", {title: one.id}, one.event || one.id), [one.reason, make("span", {class: "body"}, one.body)],
    [one.members.map(member => [link(member, {view: "member", id: member}), " "]), one.boards.length > 0 && "on ", one.boards.map(board => [link(board, {view: "board", id: board}), " "])],
    when(one.sent), make("div", {class: "group"}, button("Replay", () => replay([one.id], [one.event].filter(Boolean))), button("Drop", () => drop([one.id], [one.event].filter(Boolean))))]), "stack"),
    several || ""];
}
const many = (ids, events) => ids.length === 1 ? `the event ${events[0] || ids[0]}` : `${ids.length} refused events`;
const named = list => list.length > STATUSES ? `${list.slice(0, STATUSES).join(", ")} and ${list.length - STATUSES} more` : list.join(", ");
const replay = (ids, events) => change({
  title: `Replay ${many(ids, events)}?`, yes: "Replay",
  moves: ["They go to the queue of events again, unchanged. What keeps the rules now counts once, and the ranks of its members move; what still breaks one is refused again.", named(events.length ? events : ids)],
  async act() {
    const done = await task("dead_letters replay", {ids});
    let counted = [], again = [];
    // What the writer refuses again is in the queue again.
    await until(async () => {
      counted = (await each(events.slice(0, STATUSES), id => orNone(get("events", {id})))).filter(one => one?.status === "counted");
      again = (await task("dead_letters list", {ids: events, limit: LETTERS})).messages;
    }, () => counted.length + again.length >= Math.min(events.length, STATUSES));
    return [`${done.replayed} sent again: ${counted.length} counted, ${again.length} refused again.`, ...again.slice(0, STATUSES).map(one => `${one.event}: ${one.reason}`), ...done.problems.map(one => `${one.id}: ${one.why}`), done.why || ""].filter(Boolean).join("\n");
  },
});
const drop = (ids, events) => change({
  title: `Drop ${many(ids, events)}?`, yes: "Drop", final: true,
  moves: ["They are deleted for good. Nothing of them has counted, and no rank moves.", named(events.length ? events : ids)],
  async act() {
    const done = await task("dead_letters delete", {ids});
    return [`${done.deleted} deleted.`, done.missing.length ? `Not there any more: ${named(done.missing)}.` : "", ...done.problems.map(one => `${one.id}: ${one.why}`), done.done ? "" : "Not every message was looked at: try again."].filter(Boolean).join("\n");
  },
});

// ---- views

const VIEWS = {
  async members({name = "", board = ""}) {
    const found = name && await get("members", {name, board}).catch(error => { if (error.status === 400) return {members: [], why: error.message}; throw error; });
    const rows = found && [...found.members.map(one => [link(one.profile.name, {view: "member", id: one.member}), one.member]), [link(name, {view: "member", id: name}), "the id itself"]];
    return [card("Find a member", form("Find", {
      name: {text: "Id, or the beginning of a name", value: name, required: true}, board: {text: "Board (may be empty)", value: board},
    }, given => { location.hash = new URLSearchParams({view: "members", ...given}); }),
    found?.why ? make("p", {}, found.why) : "", rows ? table("Found", ["Name", "Id"], rows) : "")];
  },
  async member({id, most = CARDS}) {
    const [profile, {names, complete}, refused] = await Promise.all([orNone(get("members", {id})), boardsOf(id), task("dead_letters list", {member: id, limit: LETTERS})]);
    const cards = await each(names.slice(0, most), board => cardOf(board, id));
    return [
      card(profile?.name || id, make("p", {}, `Id: ${id}. ${profile?.country ? `Country: ${profile.country}. ` : ""}On ${names.length}${complete ? "" : " or more"} ${names.length === 1 ? "board" : "boards"}.`),
        names.length ? make("div", {class: "group"}, button("Hide everywhere", () => setHiddenEverywhere(id, true).catch(failed)), button("Show everywhere", () => setHiddenEverywhere(id, false).catch(failed))) : "",
        folded("Name", form("Name it", {name: {text: "Name", value: profile?.name || "", maxlength: 64}}, ({name}) => rename(id, name.trim()).catch(failed))),
        folded("Register on a board", form("Register", {board: {text: "Board", required: true}}, ({board}) => register(board.trim(), id).catch(failed)))),
      ...cards.filter(Boolean).map(found => onBoard(found, id)),
      names.length > most ? make("p", {class: "links"}, link("More boards", {view: "member", id, most: +most + CARDS})) : "",
      card("Refused events", ...letters(refused, "Events that name this member, and were refused.")),
    ];
  },
  async boards({prefix = "", cursor = ""}) {
    const [page, refused] = await Promise.all([get("boards", {prefix, cursor, limit: LISTED}), task("dead_letters list", {limit: LETTERS})]);
    const {boards} = await task("boards show", {boards: page.boards.map(one => one.board)});
    const rows = boards.map(one => [link(one.board, {view: "board", id: one.board}), badge(one.state), when(one.begun), audit(one), one.settled === null ? "" : number(one.settled), number(refused.messages.filter(letter => letter.boards.includes(one.board)).length)]);
    return [card("Boards", form("Find", {prefix: {text: "Its name begins with", value: prefix}}, given => { location.hash = new URLSearchParams({view: "boards", ...given}); }),
      table(rows.length ? "" : "No such board.", ["Board", "State", "Begun", "Audited", "#Settled", "#Refused"], rows, "stack"), page.next ? make("p", {class: "links"}, link("More boards", {view: "boards", prefix, cursor: page.next})) : "")];
  },
  async board({id}) {
    const [{boards: [now]}, definition, refused] = await Promise.all([task("boards show", {boards: [id]}), orNone(get("boards/" + encodeURIComponent(id))), task("dead_letters list", {board: id, limit: LETTERS})]);
    const settled = now.family === null ? {results: []} : await task("settlements list", {board: id});
    const facts = {State: badge(now.state), Family: now.family || "none in boards.toml", Begun: when(now.begun), "Last audit": audit(now), Generation: now.generation,
      Job: now.job && `${now.job.task}, ${now.job.phase} since ${when(now.job.since)}: ${number(now.job.members)} members, ${now.job.part} of ${now.job.parts} parts`,
      "Time zone": definition?.timezone, Members: definition?.members, Late: definition?.late};
    return [
      card(id, make("dl", {}, Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== "").flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
        definition ? table("What it ranks", ["Metric", "Aggregate", "Windows"], definition.metrics.map(one => [one.metric, one.aggregate, one.windows.map(window => window.window).join(", ") || "none"])) : "",
        make("p", {class: "links"}, make("a", {href: "./?board=" + encodeURIComponent(id)}, "Live page"), " ", button("Delete", () => deleteBoard(id))),
        form("Look at a member", {member: {text: "Member's id", required: true}}, ({member}) => { location.hash = new URLSearchParams({view: "member", id: member}); })),
      settled.results.length ? card("Settled periods", table(settled.done ? "" : "The first ones.", ["Metric", "Window", "Period", "#Members"], settled.results.map(one => [one.metric, one.window, one.period, number(one.members)]))) : "",
      card("Refused events", ...letters(refused, "Events of this board that were refused.")),
    ];
  },
  async refused({reason = "", board = ""}) {
    const given = Object.fromEntries(Object.entries({reason, board}).filter(([, value]) => value));
    const found = await task("dead_letters list", {...given, limit: LETTERS});
    return [card("Refused events", form("Choose", {reason: {text: "Part of the reason", value: reason}, board: {text: "Board", value: board}}, chosen => { location.hash = new URLSearchParams({view: "refused", ...chosen}); }),
      found.reasons.length > 1 ? table("By reason", ["Reason", "#Events"], found.reasons.map(one => [one.reason, number(one.messages)])) : "",
      ...letters(found, "Repair the cause first, then replay. Events that are wrong themselves are posted again under their id, then dropped."))];
  },
};
function audit({audited}) {
  if (!audited) return "";
  const found = audited.drift ? `${number(audited.drift)} differences in ${number(audited.boards)} boards` : "no difference";
  return `${when(audited.since)}: ${audited.failed ? "left out, it failed" : found}`;
}
// A member on one board: where it stands, and what can be done.
function onBoard(found, id) {
  const {board, hidden, metrics} = found, rows = metrics.flatMap(metric => metric.windows.map(one => [metric.metric, one.window, one.score === null ? "–" : amount(one.score, forms[board][metric.metric]), one.rank ? `${number(one.rank)} of ${number(one.total)}` : "–"]));
  const of = Object.fromEntries(metrics.map(one => ["of " + one.metric, {text: one.metric, inputmode: "decimal", pattern: NUMBER}]));
  const amounts = given => Object.fromEntries(Object.entries(given).filter(([name, text]) => name.startsWith("of ") && text).map(([name, text]) => [name.slice(3), read(text)]));
  const back = make("button", {value: "back"}, "Take back");
  return make("section", {class: "card", "data-board": board}, make("h2", {tabindex: -1}, link(board, {view: "board", id: board}), hidden ? badge("hidden") : ""),
    table("", ["Metric", "Window", "#Score", "#Rank"], rows),
    make("div", {class: "group"}, button(hidden ? "Show" : "Hide", () => setHidden(board, id, !hidden).catch(failed)), button("Remove", () => remove(board, id).catch(failed))),
    folded("Correct or take back an event", form("Correct", {event: {text: "Event's id", required: true, maxlength: 128}, ...of}, (given, by) => {
      const metrics_ = by === back ? null : amounts(given);
      if (metrics_ && !Object.keys(metrics_).length) return note("Give the numbers that the event should have had.");
      correct(board, id, given.event.trim(), metrics_).catch(failed);
    }, back)),
    folded("Merge into another member", form("Merge", {into: {text: "The id that stays", required: true}}, ({into}) => merge(board, id, into.trim()).catch(failed))));
}
async function show() {
  const mine = ++shown, given = Object.fromEntries(new URLSearchParams(location.hash.slice(1))), view = Object.hasOwn(VIEWS, given.view) ? given.view : "members";
  const tab = "#view=" + ({member: "members", board: "boards"}[view] || view);
  for (const one of document.querySelectorAll("nav a")) if (one.hash === tab) one.setAttribute("aria-current", "page"); else one.removeAttribute("aria-current");
  if (!$("view").children.length) $("view").replaceChildren(make("p", {}, "Reading …"));
  const parts = await VIEWS[view](given);
  if (mine === shown) $("view").replaceChildren(...parts.filter(Boolean));
}
addEventListener("hashchange", async () => {
  note("");
  if ($("inside").hidden) return;
  state("waiting", "reading");
  try {
    await show();
    $("view").querySelector("h2")?.focus();
    signed();
  } catch (error) { signed(); failed(error); }
});
enter();
