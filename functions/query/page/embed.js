// A frame in another page (`?embed`): the list alone. Its links open the whole page beside the other one.
function whole(more = {}) {
  const all = new URLSearchParams();
  for (const name of ["board", "metric", "window", "period", "rise", "fall"]) if (view[name]) all.set(name, view[name]);
  for (const [name, value] of Object.entries(more)) all.set(name, value);
  return location.origin + location.pathname + "?" + all;
}
function outside(text, address) {
  const link = element("a", "", text);
  Object.assign(link, {href: address, target: "_blank", rel: "noopener"});
  return link;
}
// A frame shows the heads of its columns only where there are several numbers.
function framed() {
  if ($("title").querySelector("a")) return;
  $("title").replaceChildren(outside([view.board, tieBreaks().length ? view.metric : headed(view.metric, view.metric), view.window.replaceAll("-", " ")].join(" · "), whole()));
}
if (embed) {
  document.documentElement.classList.add("embed");
  // A frame that is scrolled out of sight is not hidden.
  new IntersectionObserver(changed => {
    unseen = !changed.at(-1).isIntersecting;
    // What failed out of sight was not asked for again.
    if ($("state").dataset.is === "offline") again(); else hurry();
  }).observe(document.documentElement);
}
