import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { type EventWork, type EventWorkPlan, LEASED, openEventWork } from './event-work.js';

// The floor under a worker apart from its API: the events that the API's process commits are leased in batches, sent
// and recorded.

/** Starts taking events, or waits until none is left and ends. */
export type WorkerQuestion = { open: EventWorkPlan } | { close: true };

/** Pause after a batch that is not full, ms, as in the service's worker. */
const LOOK = 20;

let work: EventWork | undefined;
let closing = false;
let ended: Promise<void> = Promise.resolve();

/** @returns when the last POST ended, after `close` */
async function answer(question: WorkerQuestion): Promise<{ at: number }> {
  if ('open' in question) {
    closing = false;
    work = await openEventWork(question.open);
    ended = run(work, question.open.width);
    return { at: now() };
  }
  closing = true;
  await ended;
  const at = now();
  await work?.close();
  return { at };
}

async function run(events: EventWork, width: number): Promise<void> {
  const posts = new Set<Promise<void>>();
  for (;;) {
    const last = closing;
    const leased = posts.size < 2 * width ? await events.lease() : [];
    for (const event of leased) {
      const post: Promise<void> = events.post(event).finally(() => posts.delete(post));
      posts.add(post);
    }
    if (last && leased.length === 0 && posts.size === 0) return;
    if (leased.length < LEASED) await sleep(LOOK);
  }
}

answerQuestions(answer);
