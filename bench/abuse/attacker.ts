import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { type Asked, asker, type Target } from './requests.js';

// A hostile client: it sends the same few requests in turn until it is stopped.

export interface AttackLoad {
  target: Target;
  asked: Asked[];
  /** Requests per second; 0: as fast as the responses arrive. */
  rate: number;
  /** Maximum number of requests in flight. */
  atOnce: number;
}

export interface AttackResult {
  /** Responses by status; 0: no response. */
  answers: Record<string, number>;
  largestBytes: number;
}

export type AttackerQuestion = { begin: AttackLoad } | { end: true };

let going = false;
let loops: Promise<unknown> = Promise.resolve();
let result: AttackResult;

function begin({ target, asked, rate, atOnce }: AttackLoad): void {
  const ask = asker(target);
  const startedAt = now();
  let next = 0;
  going = true;
  result = { answers: {}, largestBytes: 0 };
  const loop = async (): Promise<void> => {
    for (let index = next++; going; index = next++) {
      const request = asked[index % asked.length];
      if (!request) return;
      if (rate > 0) await sleep(Math.max(0, startedAt + (index * 1_000) / rate - now()));
      const { status, bytes } = await ask(request);
      result.answers[status] = (result.answers[status] ?? 0) + 1;
      result.largestBytes = Math.max(result.largestBytes, bytes);
    }
  };
  loops = Promise.all(Array.from({ length: atOnce }, loop));
}

answerQuestions(async (question: AttackerQuestion): Promise<AttackResult> => {
  if ('begin' in question) begin(question.begin);
  else {
    going = false;
    await loops;
  }
  return result;
});
