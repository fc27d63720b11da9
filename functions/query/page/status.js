// What the page says of itself: loading, live, offline, empty, and what went wrong.
function waiting() {
  state("waiting", "loading");
  if (kiosk) blank();
  $("found").hidden = !view.member;
  $("found-name").textContent = view.member;
  $("found-rank").textContent = view.member ? "…" : "";
  $("picture").replaceChildren();
  $("past").replaceChildren();
  $("found-gap").hidden = true;
  named = "";
  $("empty").hidden = true;
  $("rows").leader = undefined;
  $("rows").replaceChildren(...Array.from({length: 8}, () => {
    const row = element("tr"), cell = element("td");
    row.setAttribute("aria-hidden", "true");
    cell.colSpan = 4 + $("list").querySelectorAll("th.tie").length;
    cell.append(element("span", "ghost"));
    row.append(cell);
    return row;
  }));
}
function empty(text) {
  $("rows").replaceChildren();
  $("empty").textContent = text;
  $("empty").hidden = false;
  $("total").textContent = "";
}
function failed(error) {
  pace = Math.min(SLOWEST, pace * 2);
  const down = error instanceof Unreachable;
  if (!down && !(error instanceof Problem)) {
    state("offline", "broken");
    note(`This page has a bug: ${error.message}. It tries again.`);
    console.error(error);
    again();
    return;
  }
  if (down || error.status >= 500 || error.status === 429) {
    state("offline", down ? "offline" : "no answer just now");
    note((down ? "The API cannot be reached." : "The API does not answer just now.") + (answer ? " These are the standings of " + new Date(seen).toLocaleTimeString() + "." : "") + " Trying again.");
    if (!answer) { $("rows").replaceChildren(); $("total").textContent = ""; }
    again();
    return;
  }
  // A name with a slash is another path.
  if (error.kind === "no-such-board" || error.kind === "no-such-path") { noBoard(error).catch(failed); return; }
  if (error.kind === "period-gone" || error.kind === "bad-argument") $("before").disabled = true;
  $("after").disabled = !view.period;
  again(SLOWEST);
  unreadable(error);
}
function fresh() {
  if (document.documentElement.dataset.scene === "home") ages();
  if (!answer) return;
  // The first event on a board brings the list.
  if (answer.total) scene("list");
  if (document.documentElement.dataset.scene === "unused") { state("none", ""); return; }
  $("chosen").textContent = worded(view.window);
  $("chosen-period").textContent = answer.period.name ? when(answer.period) : "";
  const at = answer.as_of ? Math.max(0, Date.now() - Date.parse(answer.as_of)) : null;
  if ($("state").dataset.is !== "offline" || performance.now() - shownAt < EVERY) state("live", (answer.state === "final" ? "final" : view.period ? "as it is now" : "live") + (at === null ? "" : " · last change " + ago(at)));
}
function state(is, text) {
  if ($("state").dataset.is !== is) $("state").dataset.is = is;
  if ($("state").textContent !== text) $("state").textContent = text;
}
function note(text) {
  if ($("note").textContent !== text) $("note").textContent = text;
  $("note").hidden = !text;
}
function say(text) { $("said").textContent = text; }
