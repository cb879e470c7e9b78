import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../support/caller.js';
import { transferRequest } from '../support/transfers.js';

/** A requested status change with the status of the response; 0: no response. */
export interface Asked {
  transfer: string;
  to: string;
  answer: number;
  /** The request had an Idempotency-Key and was repeated until it got a response. */
  keyed: boolean;
}

export interface Load {
  /** The created transfers. Each request has its own key and is repeated until it gets a response. */
  created: string[];
  /** Those of them that must end as COMPLETED without a request. */
  simulated: string[];
  asked: Asked[];
  /** A line for each request that was repeated without success. */
  faults: string[];
  /** Number of responses by status, over all requests. */
  answers: Record<number, number>;
  /** Number of transfers in progress. */
  readonly running: number;
  /** Starts no further request, and waits for the requests in flight. */
  stop(): Promise<void>;
}

const PATH_OF_A_TRANSFER = ['PROCESSING', 'SENT', 'COMPLETED'];
/** No response, or one that says nothing of earlier tries: 408 follows a freeze of the machine, which cuts the request. */
export const UNANSWERED: readonly number[] = [0, 408, 503];
const KEYED = 0.3;
/** Part of the transfers whose status the service changes itself. */
const SIMULATED = 0.1;
const AT_ONCE = 100;
/** How long a request is repeated, ms. */
const PATIENCE = 120_000;

/**
 * Makes about `rate` changes per second until it is stopped: it creates transfers and changes their status.
 */
export function startLoad(clients: readonly Caller[], random: () => number, rate: number, patience = PATIENCE): Load {
  const created: string[] = [];
  const simulated: string[] = [];
  const asked: Asked[] = [];
  const faults: string[] = [];
  const answers: Record<number, number> = {};
  const running = new Set<Promise<void>>();
  const stopped = new AbortController();

  const ask = async (call: Caller, path: string, body: unknown, key?: string) => {
    const headers = key === undefined ? {} : { 'Idempotency-Key': key };
    const { status, body: answer } = await call('POST', path, body, headers).catch(() => NO_ANSWER);
    answers[status] = (answers[status] ?? 0) + 1;
    return { status, id: answer?.id as string, code: answer?.code as string | undefined };
  };
  /** Repeats a request with the same key, which makes the change once. */
  const askUntilAnswered = async (call: Caller, path: string, body: unknown) => {
    const key = randomUUID();
    const got: Record<string, number> = {};
    const begun = performance.now();
    while (performance.now() - begun < patience) {
      const answer = await ask(call, path, body, key);
      if (!UNANSWERED.includes(answer.status) && answer.code !== 'idempotency_key_in_use') return answer;
      const kind = `${answer.status} ${answer.code ?? ''}`.trim();
      got[kind] = (got[kind] ?? 0) + 1;
      await sleep(200);
    }
    const seconds = Math.round((performance.now() - begun) / 1_000);
    throw new Error(
      `${path} was repeated without success for ${seconds} s; responses (0: none): ${JSON.stringify(got)}`,
    );
  };
  const lifecycle = async (call: Caller) => {
    const isSimulated = random() < SIMULATED;
    const destination = { name: 'Ada Lovelace', account: 'SANDBOX-COMPLETE' };
    const request = transferRequest(isSimulated ? { destination } : {});
    const { id } = await askUntilAnswered(call, '/transfers', request);
    created.push(id);
    if (isSimulated) return void simulated.push(id);
    const steps = 1 + Math.floor(random() * PATH_OF_A_TRANSFER.length);
    for (const to of PATH_OF_A_TRANSFER.slice(0, steps)) {
      const keyed = random() < KEYED;
      const path = `/sandbox/transfers/${id}/status`;
      const { status: answer } = await (keyed ? askUntilAnswered : ask)(call, path, { status: to });
      asked.push({ transfer: id, to, answer, keyed });
      // The judge decides whether a change without a response was made. No further change of that transfer is
      // requested.
      if (answer !== 200) return;
      await sleep(100 * random());
    }
  };
  const loop = async () => {
    while (!stopped.signal.aborted) {
      const call = clients[Math.floor(random() * clients.length)];
      if (call && running.size < AT_ONCE) {
        const one = lifecycle(call)
          .catch((error: Error) => void faults.push(error.message))
          .finally(() => running.delete(one));
        running.add(one);
      }
      // A transfer has two changes on average.
      await sleep((2_000 / rate) * 2 * random(), undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const looping = loop();
  return {
    created,
    simulated,
    asked,
    faults,
    answers,
    get running() {
      return running.size;
    },
    async stop() {
      stopped.abort();
      await looping;
      await Promise.all(running);
    },
  };
}

const NO_ANSWER = { status: 0, body: undefined };
