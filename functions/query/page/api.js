// Reads of the API. The browser keeps answers as their Cache-Control says, and asks with their ETag whether they have changed.
class Problem extends Error {
  constructor(status, kind, detail) { super(detail); this.status = status; this.kind = kind; }
}
class Unreachable extends Error {}
// Asking again does not help.
const lasting = error => error instanceof Problem && error.status < 500 && error.status !== 429;

// CloudFront signs requests to a function URL, and needs the hash of their bodies. Over plain HTTP a browser computes none.
async function hashed(body) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body)));
  return {"x-amz-content-sha256": [...digest].map(byte => byte.toString(16).padStart(2, "0")).join("")};
}
// An unchanged answer is the same object as before.
async function get(path, options = {}) {
  flying++;
  try {
    if (options.body && crypto.subtle) options.headers = {...options.headers, ...await hashed(options.body)};
    const response = await fetch(path, {...options, signal: AbortSignal.timeout(PATIENCE)}), text = await response.text();
    let said = {};
    // The gateway's own errors need not be JSON. A success that is none comes from something between.
    try { said = JSON.parse(text); } catch (error) { if (response.ok) throw error; }
    heed(response);
    if (!response.ok) throw new Problem(response.status, (said.type || "").replace("urn:standings:", ""), said.detail || said.message || "HTTP " + response.status);
    const tag = response.headers.get("ETag"), known = tags.get(path);
    if (!tag || options.body) return said;
    if (known?.tag === tag) return known.answer;
    if (tags.size > 40) tags.clear();
    tags.set(path, {tag, answer: said});
    return said;
  } catch (error) { throw error instanceof Problem ? error : new Unreachable(error.message); }
  finally { flying--; heard = performance.now(); }
}
const ranking = () => ["boards", view.board, view.metric, view.window].map((part, n) => n ? encodeURIComponent(part) : part).join("/");
const query = given => {
  const all = new URLSearchParams(given);
  if (view.period) all.set("period", view.period);
  return "?" + all;
};
