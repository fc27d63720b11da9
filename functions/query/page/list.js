// The list, which moves as ranks change.
function rows() {
  const body = $("rows"), old = new Map();
  for (const row of body.children) if (row.member !== undefined) old.set(row.member, {row, top: row.getBoundingClientRect().top});
  const entries = answer.entries, faces = entries.some(one => one.profile), made = (kiosk ? stand(entries) : entries).map(one => {
    const row = old.get(one.member)?.row || line(one.member);
    const [rank, moved, , score] = row.children;
    row.dataset.rank = one.rank;
    row.classList.toggle("me", one.member === view.member);
    row.classList.toggle("own", one.member === own);
    rank.textContent = number(one.rank);
    score.textContent = amount(one.score);
    ties(row, one);
    person(row, one, faces);
    moved.replaceChildren(...(answer.period.name && before.get(one.member) !== undefined ? [arrow(one.rank, before.get(one.member))] : []));
    return row;
  });
  columns();
  // On a phone the column of movement is there where somebody moved, and while that is not known.
  $("list").classList.toggle("calm", made.every((row, place) => before.get(entries.at(place - made.length).member) !== undefined && !row.children[1].textContent));
  zones(made, entries);
  if (made.length !== body.children.length || made.some((row, place) => row !== body.children[place])) {
    const held = document.activeElement;
    body.replaceChildren(...made);
    if (held && body.contains(held)) held.focus({preventScroll: true});
    glide(made, old);
    const leader = entries[0]?.member;
    if (view.rank === 1 && body.leader !== undefined && leader !== body.leader && leader !== undefined) say(shownAs(entries[0]) + " leads now");
    body.leader = view.rank === 1 ? leader : undefined;
  }
  $("total").textContent = `${number(answer.total)} ${answer.total === 1 ? "member" : "members"}` + (entries.length && entries[0].rank > 1 ? `, from rank ${number(entries[0].rank)}` : "");
  $("empty").hidden = entries.length > 0;
  if (!entries.length) empty(answer.total ? "Nobody stands this far down." : isOver(answer) ? "This period is over. Nobody is ranked in it." : "Nobody is ranked in this period yet.");
  enable("next", answer.next);
  enable("first", view.rank > 1);
  enable("previous", view.rank > 1);
  $("periods").hidden = !answer.period.name;
  // A desk shows the days of a season below its name: the search has its room beside them.
  $("when").replaceChildren(...when(answer.period).split(/( · )/).map((text, place) => element("span", ["", "dot", "days"][place], text)));
  enable("after", view.period);
  enable("before", answer.period.previous);
  if (kiosk) fit();
}
// A button that cannot be pressed any more hands the focus to the one beside it.
const BESIDE = {next: "previous", first: "next", previous: "next", after: "before", before: "after"};
function enable(name, can) {
  const held = document.activeElement === $(name);
  $(name).disabled = !can;
  if (held && !can) $(BESIDE[name]).focus({preventScroll: true});
}
function person(row, one, faces) {
  const {name, picture, country} = one.profile || {}, said = remark(one.note), key = JSON.stringify([name, picture, country, faces, said]);
  if (row.person === key) return;
  row.person = key;
  const button = row.querySelector("button, a"), shown = shownAs(one), parts = [button];
  button.textContent = shown;
  button.title = shown === one.member ? "" : one.member;
  if (faces) parts.unshift(face(shown, picture));
  if (country) { const mark = element("span", "country", country); mark.title = countryOf(country); parts.push(mark); }
  if (said) parts.push(element("span", "remark", said));
  button.parentNode.replaceChildren(...parts);
}
// The host of an address; none of an address that only the API takes for one, such as that of a port above 65535.
function hostOf(address) { try { return new URL(address).host; } catch { return null; } }
// Initials, and over them the picture if its host is allowed and it loads. One that did not load is asked for again some minutes later.
function face(name, picture) {
  const made = element("span", "face"), words = name.trim().split(/\s+/u), ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  made.dataset.initials = ends.map(word => [...word][0] || "").join("").toUpperCase();
  made.setAttribute("aria-hidden", "true");
  if (!picture || performance.now() < broken.get(picture) || !hosts.includes(hostOf(picture))) return made;
  const image = element("img");
  image.addEventListener("error", () => { broken.set(picture, performance.now() + BROKEN_FOR); image.remove(); });
  Object.assign(image, {alt: "", loading: "lazy", referrerPolicy: "no-referrer"});
  image.src = picture;
  made.append(image);
  return made;
}
function line(member) {
  const row = element("tr"), who = element("td", "who"), parts = element("div"), button = embed ? outside(member, whole({member})) : element("button", "", member);
  row.member = member;
  button.dir = "auto";
  // What was clicked goes away. Whoever uses the keyboard goes on at the card.
  if (!embed) button.addEventListener("click", event => { show({member}); $("found-name").focus({preventScroll: event.detail > 0}); });
  parts.append(button);
  who.append(parts);
  row.append(element("td", "rank"), element("td", "moved"), who, element("td", "score"));
  return row;
}
function glide(made, old) {
  if (still.matches) return;
  for (const row of made) {
    const from = old.get(row.member);
    if (!old.size) return;
    const shift = from ? from.top - row.getBoundingClientRect().top : 0;
    if (!from) row.animate([{opacity: 0}, {opacity: 1}], 400);
    else if (shift) row.animate([{transform: `translateY(${shift}px)`}, {transform: "none"}], {duration: 600, easing: "cubic-bezier(.2,.7,.2,1)"});
  }
}
// Ranks of the period before hardly change: read each member's once, and those of newcomers together.
async function movement(mine) {
  if (!answer.period.name || Date.now() - moved < MOVEMENT_EVERY) return;
  const listed = answer.entries.map(one => one.member), more = standing && !listed.includes(view.member) ? [view.member] : [];
  const unknown = [...listed, ...more].filter(one => !before.has(one)).slice(0, 100);
  if (!unknown.length) return;
  moved = Date.now();
  // An answer that comes after another view was chosen is still right for this period.
  const known = before;
  for (const member of unknown) known.set(member, undefined);
  try {
    const found = await get(ranking() + "/ranks" + query({previous: "true"}), {method: "POST", body: JSON.stringify({members: unknown}), headers: {"Content-Type": "application/json"}});
    for (const one of found.entries) known.set(one.member, one.previous_rank);
    if (mine !== asked) return;
    rows();
    if (view.member) card();
  } catch {
    // Without arrows the page still works. A permanent failure shows with the next read.
    for (const member of unknown) known.delete(member);
  }
}
function arrow(rank, previous) {
  // Where nobody has a rank of the period before, all are new: that says nothing.
  if (previous === null) return element("span", "same", [...before.values()].some(Number) ? "new" : "");
  if (previous === undefined) return element("span");
  const by = previous - rank;
  const mark = element("span", by > 0 ? "up" : by < 0 ? "down" : "same", by > 0 ? "▲ " + number(by) : by < 0 ? "▼ " + number(-by) : "–");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", by ? `${by > 0 ? "up" : "down"} ${Math.abs(by)} since the period before` : "as in the period before");
  return mark;
}
