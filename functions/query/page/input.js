// Input, and the start.
$("metric").addEventListener("change", () => show({metric: $("metric").value, window: "", period: "", rank: 1}));
$("before").addEventListener("click", () => { if (answer) show({period: answer.period.previous, rank: 1}); });
$("after").addEventListener("click", () => { onward = answer?.period.next || ""; show({period: onward, rank: 1}); });
$("first").addEventListener("click", () => show({rank: 1}));
$("previous").addEventListener("click", () => show({rank: Math.max(1, view.rank - SHOWN)}));
$("next").addEventListener("click", () => show({rank: view.rank + SHOWN}));
$("go").addEventListener("submit", event => {
  event.preventDefault();
  const rank = parseInt($("jump").value.replace(/\D/g, ""), 10);
  if (rank > 0) show({rank});
});
$("fold").addEventListener("click", () => {
  const open = $("fold").getAttribute("aria-expanded") !== "true";
  $("fold").setAttribute("aria-expanded", String(open));
  $("controls").classList.toggle("open", open);
});
$("all").addEventListener("click", event => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  follow(NOWHERE);
});
addEventListener("popstate", () => { recall(); choose(false); });
addEventListener("keydown", event => {
  if (event.key === "/" && !/^(input|select|textarea)$/i.test(event.target.tagName)) { event.preventDefault(); search(); }
});
function search() {
  if ($("fold").getAttribute("aria-expanded") === "false") $("fold").click();
  (view.board ? $("member") : $("prefix")).focus();
}
setInterval(fresh, 1000);
try { own = localStorage.getItem("standings-me") || ""; } catch { /* a browser may refuse to store */ }
recall();
begin();
