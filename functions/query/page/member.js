// One member: the card of who was found, and the row of who looks.
const reasons = new Map();

function card() {
  const {member} = view;
  if (!places.has(member) && !refused.has(member)) return;
  standing = places.get(member) || null;
  introduce(standing || {member});
  const words = standing ? `${shownAs(standing)} is ${ordinal(standing.rank)} of ${answer.total}` : refused.get(member) || reasons.get(member) || "Not ranked in this period.";
  if (standing) {
    const moved = arrow(standing.rank, before.get(member));
    if (before.get(member) === standing.rank) moved.textContent = "as before";
    const scored = [`${amount(standing.score)} ${unit(standing.score, view.metric)}`, ...tiesOf(standing)].join(" · ");
    $("found-rank").replaceChildren(element("strong", "", ordinal(standing.rank)), ` of ${number(answer.total)} · ${scored} · ahead of or level with ${standing.percentile || "less than 0.01"} %`, ...(answer.period.name && moved.textContent ? [" · ", moved] : []));
    $("found-gap").replaceChildren(...gap(standing));
  } else $("found-rank").textContent = words;
  $("found-gap").hidden = !standing;
  if (named !== member && (standing || refused.has(member) || reasons.has(member))) { named = member; say(words); }
}
async function charts(mine) {
  const {member} = view;
  if (standing) {
    for (const [box, draw] of [["past", history_], ["picture", distribution]]) {
      try { await draw(mine); } catch (error) {
        if (!lasting(error)) throw error;
        if (mine === asked) $(box).textContent = error.message;
      }
    }
    return;
  }
  $("picture").replaceChildren();
  $("past").replaceChildren();
  if (refused.has(member) || reasons.has(member)) return;
  // Only this call tells whether the member is hidden, inactive or unknown.
  try { await get(ranking() + "/rank" + query({member})); } catch (error) {
    if (!lasting(error)) throw error;
    if (mine !== asked || member !== view.member) return;
    reasons.set(member, error.message);
    card();
  }
}
function introduce(one) {
  const {name, picture, country} = one.profile || {}, key = JSON.stringify([one.member, name, picture, country]);
  if ($("found-name").key !== key) {
    const parts = one.profile ? [face(shownAs(one), picture)] : [];
    parts.push(shownAs(one));
    if (country) { const mark = element("span", "country", country); mark.title = countryOf(country); parts.push(mark); }
    $("found-name").replaceChildren(...parts);
    $("found-name").key = key;
  }
  $("found").hidden = false;
  $("claim").hidden = !standing;
  $("claim").setAttribute("aria-pressed", String(own === view.member));
}
// What is between a member and the one just before it in the list.
function gap(one) {
  if (!one.ahead) return ["leads"];
  const by = between(one, one.ahead), other = element("bdi", "", shownAs(one.ahead));
  return by === null ? ["level with ", other] : [`${by} behind `.trimStart(), other, ` (${ordinal(one.ahead.rank)})`];
}
function place() {
  const me = own && places.get(own);
  $("mine").hidden = !me;
  if (!me) return;
  const words = JSON.stringify(me);
  if ($("mine").words === words) return;
  $("mine").words = words;
  const behind = element("span", "gap"), who = element("bdi", "who", shownAs(me)), leave = element("button", "", "Not me");
  behind.append(...gap(me));
  leave.addEventListener("click", () => { claim(""); $("title").focus({preventScroll: true}); });
  $("mine").replaceChildren(element("strong", "", ordinal(me.rank)), who, element("span", "", [amount(me.score), ...tiesOf(me)].join(" · ")), behind, leave);
}
function claim(member) {
  own = member;
  // A browser may refuse to store: then it is remembered until the page is left.
  try { if (member) localStorage.setItem("standings-me", member); else localStorage.removeItem("standings-me"); } catch { /* see above */ }
  $("claim").setAttribute("aria-pressed", String(own !== "" && own === view.member));
  if (!answer) return;
  asked++;
  refresh();
}
