import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { type Asked, asker, type Target } from './requests.js';

// A normal client: it sends requests at a steady rate, whether responses arrive or not.

export interface VictimLoad {
  target: Target;
  asked: Asked;
  /** Requests per second. */
  rate: number;
  seconds: number;
}

export interface VictimResult {
  /** ms from a request's planned time to the end of its response, or to its failure. */
  delays: number[];
  failed: number;
}

async function run({ target, asked, rate, seconds }: VictimLoad): Promise<VictimResult> {
  const ask = asker(target);
  const delays: number[] = [];
  let failed = 0;
  const startedAt = now();
  const one = async (index: number): Promise<void> => {
    const dueAt = startedAt + (index * 1_000) / rate;
    await sleep(Math.max(0, dueAt - now()));
    const { status } = await ask(asked);
    delays.push(now() - dueAt);
    if (status < 200 || status > 299) failed++;
  };
  await Promise.all(Array.from({ length: rate * seconds }, (_, index) => one(index)));
  return { delays, failed };
}

answerQuestions(run);
