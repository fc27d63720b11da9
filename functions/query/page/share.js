// A link to this view, and the frame that shows its list in another page.
const COPIED = 2000, FRAME = 500;

async function copy(button, text) {
  const label = button.textContent;
  try { await navigator.clipboard.writeText(text); } catch {
    // A browser may refuse: then it stands there to be copied by hand.
    offerText(text);
    return;
  }
  say("Copied");
  if (label === "Copied") return;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, COPIED);
}
function offerText(text) {
  $("code").value = text;
  if (!$("snippet").open) $("snippet").showModal();
  $("code").select();
}
function frame() {
  const made = element("iframe");
  for (const [name, value] of Object.entries({src: whole({embed: ""}).replace("embed=", "embed"), title: $("title").textContent, width: "100%", height: FRAME, loading: "lazy"})) made.setAttribute(name, value);
  made.style.border = "0";
  return made.outerHTML;
}
$("link").addEventListener("click", () => {
  $("snippet-name").textContent = "A link to this view";
  $("snippet-hint").hidden = true;
  copy($("link"), location.href);
});
$("frame").addEventListener("click", () => {
  $("snippet-name").textContent = "Embed this list";
  $("snippet-hint").hidden = false;
  offerText(frame());
});
$("copy").addEventListener("click", () => copy($("copy"), $("code").value));
$("close").addEventListener("click", () => $("snippet").close());
