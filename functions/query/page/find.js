// Members found by an id, or by the beginning of a name.
$("find").addEventListener("submit", async event => {
  event.preventDefault();
  await find($("member").value);
});
async function find(member) {
  offer([]);
  $("member").value = member;
  if (!member) return forget();
  if (!answer) return show({member});
  view.member = member;
  remember(true);
  asked++;
  $("picture").replaceChildren();
  await refresh();
  if (standing?.member === view.member) show({rank: Math.max(1, standing.rank - NEIGHBOURS)}, false);
}
// Names that begin like what is typed, in a list for the arrow keys. Enter without a choice finds an exact id.
$("member").addEventListener("input", () => {
  const mine = ++typed, name = $("member").value.trim();
  if ([...name].length < 2) return offer([]);
  setTimeout(async () => {
    if (mine !== typed) return;
    try {
      const found = await get("members?" + new URLSearchParams({name, board: view.board, limit: OFFERS}));
      if (mine === typed && document.activeElement === $("member")) offer(found.members);
    } catch { offer([]); /* the list is only a typing aid */ }
  }, TYPING);
});
function offer(members) {
  if (!members.length) typed++;
  $("offers").replaceChildren(...members.map(({member, profile}, place) => {
    const option = element("li", "", [profile.name, profile.country].filter(Boolean).join(" · "));
    option.id = "offer-" + place;
    option.member = member;
    option.title = member;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    // The list closes when the field loses the focus, which a pressed mouse must not take from it.
    option.addEventListener("mousedown", event => event.preventDefault());
    option.addEventListener("click", () => find(member));
    return option;
  }));
  $("offers").hidden = !members.length;
  $("member").setAttribute("aria-expanded", String(members.length > 0));
  $("member").removeAttribute("aria-activedescendant");
}
$("member").addEventListener("keydown", event => {
  const options = [...$("offers").children], chosen = options.findIndex(one => one.ariaSelected === "true");
  if (!options.length) return;
  if (event.key === "Escape") offer([]);
  else if (event.key === "Enter" && chosen >= 0) find(options[chosen].member);
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const next = (chosen + (event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1) + options.length) % options.length;
    options.forEach((one, place) => one.setAttribute("aria-selected", String(place === next)));
    $("member").setAttribute("aria-activedescendant", options[next].id);
    options[next].scrollIntoView({block: "nearest"});
  } else return;
  event.preventDefault();
});
$("member").addEventListener("blur", () => offer([]));
$("claim").addEventListener("click", () => claim(own === view.member ? "" : view.member));
function forget() { $("found").hidden = true; $("member").value = ""; show({member: ""}); }
$("forget").addEventListener("click", () => { forget(); $("title").focus({preventScroll: true}); });
