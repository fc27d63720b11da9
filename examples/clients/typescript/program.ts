// Posts an event and reads what came of it: node built/program.js ADDRESS BOARD MEMBER
// The compiler checks paths, arguments and fields against schema.ts, which openapi-typescript makes.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const PATIENCE_MS = 60_000;

const [address, board, member] = process.argv.slice(2);
if (!address || !board || !member) {
  throw new Error("expected the API's address, a board and a member: node built/program.js ADDRESS BOARD MEMBER");
}
const token = process.env.STANDINGS_TOKEN;
const api = createClient<paths>({ baseUrl: address, headers: token ? { Authorization: `Bearer ${token}` } : {} });
const ranking = { board, metric: "points", window: "all" };

// Retry with the same body: the id makes sure that the event counts once.
const event = { id: randomUUID(), board, member, at: new Date().toISOString(), metrics: { points: 5 } };
const posted = await api.POST("/events", { body: event });
if (posted.error) throw new Error(`the event was not posted: ${JSON.stringify(posted.error)}`);
for (const { id, status, detail } of posted.data.results) console.log(`event ${id}: ${status} ${detail ?? ""}`);

// An event is counted a moment after it was posted. Until then its member may be unknown.
const until = Date.now() + PATIENCE_MS;
for (;;) {
  const { data, error, response } = await api.GET("/boards/{board}/{metric}/{window}/rank", {
    params: { path: ranking, query: { member } },
  });
  if (data && "member" in data) {
    console.log(`${data.member} is number ${data.rank} of ${data.total} with ${data.score}`);
    break;
  }
  if (response.status !== 404 || Date.now() > until) throw new Error(`no rank: ${JSON.stringify(error)}`);
  await pause(500);
}

const page = await api.GET("/boards/{board}/{metric}/{window}", {
  params: { path: ranking, query: { limit: 10, me: member } },
});
if (page.error) throw new Error(`no page: ${JSON.stringify(page.error)}`);
for (const entry of page.data.entries) console.log(`${entry.rank}. ${entry.member} ${entry.score}`);
if (page.data.me?.ahead) console.log(`next: ${page.data.me.ahead.member}`);

const distribution = await api.GET("/boards/{board}/{metric}/{window}/distribution", {
  params: { path: ranking, query: { buckets: 5 } },
});
if (distribution.error) throw new Error(`no distribution: ${JSON.stringify(distribution.error)}`);
for (const { from, to, members } of distribution.data.buckets) console.log(`${from} to ${to}: ${members}`);
