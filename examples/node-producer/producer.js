// Puts results on the queue: node producer.js < results.jsonl
// A line of results.jsonl: {"match": "m17", "player": "ann", "points": 12, "ended": "2026-11-21T10:15:00Z"}
// QUEUE_URL is the output ActivityQueueUrl of the stack, BOARD a board. The caller needs sqs:SendMessage on the queue.

import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";

const BATCH = 10; // the most that SQS takes at once
const TRIES = 6;

// The id is made of what happened, not by chance: whatever is sent twice, also by a second run, counts once.
// `at` is when it happened, so a result that is sent late counts in its own day.
function event(board, { match, player, points, ended }) {
  return { id: `${match}/${player}`, board, member: player, at: ended, metrics: { points } };
}

// SQS may take some messages of a batch and not others, so only those that failed are sent again.
async function send(sqs, queue, events) {
  let left = events.map((one, number) => ({ Id: String(number), MessageBody: JSON.stringify(one) }));
  for (let tried = 0; left.length > 0; tried += 1) {
    if (tried > 0) await pause(100 * 2 ** tried * Math.random());
    const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue, Entries: left }));
    const failed = new Map(Failed.map((one) => [one.Id, one.Message]));
    left = left.filter((one) => failed.has(one.Id));
    if (left.length > 0 && tried === TRIES) {
      throw new Error(`the queue took not all of a batch: ${[...failed.values()].join("; ")}. Run this again.`);
    }
  }
  return events.length;
}

const { QUEUE_URL: queue, BOARD: board } = process.env;
if (!queue || !board) throw new Error("expected QUEUE_URL and BOARD in the environment");
// The SDK alone would try three times, and once while many requests are throttled. Where it gives up: run this again.
const sqs = new SQSClient({ maxAttempts: 8 });
let sent = 0;
let batch = [];
for await (const line of createInterface({ input: process.stdin })) {
  batch.push(event(board, JSON.parse(line)));
  if (batch.length === BATCH) {
    sent += await send(sqs, queue, batch);
    batch = [];
  }
}
sent += await send(sqs, queue, batch);
console.log(`sent ${sent}`);
