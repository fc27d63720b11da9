// The address: a link shows the same view. Arguments that say how it is shown, such as kiosk, stay.
const PARTS = ["board", "metric", "window", "period", "member", "prefix", "rise", "fall"];
const NOWHERE = {board: "", metric: "", window: "", period: "", rank: 1, member: "", prefix: "", rise: "", fall: ""};
function address(of = view) {
  const all = new URLSearchParams(location.search);
  for (const name of [...PARTS, "rank"]) all.delete(name);
  for (const name of PARTS) if (of[name]) all.set(name, of[name]);
  if (of.rank > 1) all.set("rank", of.rank);
  const text = all.toString().replace(/=(?=&|$)/g, "");
  return location.pathname + (text && "?" + text);
}
function remember(push) {
  // The address of a kiosk stays as somebody wrote it: a reload begins the tour again. That of a frame nobody sees.
  if (kiosk || embed) return;
  if (address() !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", address());
}
function recall() {
  const all = new URLSearchParams(location.search);
  for (const name of PARTS) view[name] = all.get(name) || "";
  view.rank = Math.max(1, parseInt(all.get("rank"), 10) || 1);
}
// A link within the page. With a key held it opens as any link does.
function link(text, changed, style = "") {
  const made = element("a", style, text);
  made.href = address({...view, ...changed});
  made.addEventListener("click", event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    follow(changed);
  });
  return made;
}
function follow(changed) {
  show(changed);
  scrollTo(0, 0);
  // What was clicked goes away. Whoever uses the keyboard goes on at the title.
  $("title").focus({preventScroll: true});
}
