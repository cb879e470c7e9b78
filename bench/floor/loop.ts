import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { type EventWorkPlan, openEventWork } from './event-work.js';

// The floor under a first attempt: the least work of each event in a bare loop, without other work.

export interface LoopPlan extends EventWorkPlan {
  transfers: string[];
}

export interface Took {
  startedAt: number;
  endedAt: number;
}

async function run({ transfers, ...plan }: LoopPlan): Promise<Took> {
  const work = await openEventWork(plan);
  let next = 0;
  const loop = async (): Promise<void> => {
    for (let transferId = transfers[next++]; transferId !== undefined; transferId = transfers[next++]) {
      await work.post(await work.commit(transferId));
    }
  };
  const startedAt = now();
  await Promise.all(Array.from({ length: plan.width }, loop));
  const endedAt = now();
  await work.close();
  return { startedAt, endedAt };
}

answerQuestions(run);
