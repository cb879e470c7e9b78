import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../support/caller.js';
import { pick } from '../support/random.js';

export interface ActionEndpoint {
  call: Caller;
  webhookId: string;
  url: string;
  /** Whether the endpoint is disabled, enabled and recovered. On the other endpoints, deliveries are only retried. */
  toggled: boolean;
}

export interface RandomActions {
  /** Number of responses by request and status, such as `retry 202`. */
  answers: Record<string, number>;
  stop(): Promise<void>;
}

const EVERY = 700;

/** Requests random retries, disables, enables and recoveries, like operators who watch the deliveries. */
export function startRandomActions(
  endpoints: readonly ActionEndpoint[],
  random: () => number,
  since: string,
): RandomActions {
  const answers: Record<string, number> = {};
  const stopped = new AbortController();
  const toggled = endpoints.filter((endpoint) => endpoint.toggled);
  const one = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)];

  const counted = async (name: string, answer: ReturnType<Caller>) => {
    const { status, body } = await answer.catch(() => ({ status: 0, body: undefined }));
    const said = `${name} ${status}`;
    answers[said] = (answers[said] ?? 0) + 1;
    return body;
  };
  const retry = async (endpoint: ActionEndpoint) => {
    const status = random() < 0.5 ? '?status=pending' : '';
    const page = await counted(
      'list',
      endpoint.call('GET', `/webhook-endpoints/${endpoint.webhookId}/deliveries${status}`),
    );
    const delivery = one((page?.data ?? []) as { id: string }[]);
    if (delivery) await counted('retry', endpoint.call('POST', `/deliveries/${delivery.id}/retry`));
  };
  const act = async () => {
    const what = pick(random, [
      ['retry', 6],
      ['toggle', 2],
      ['recover', 1],
    ] as const);
    const endpoint = one(what === 'retry' ? endpoints : toggled);
    if (!endpoint) return;
    if (what === 'retry') return retry(endpoint);
    if (what === 'recover') return counted('recover', recover(endpoint, since));
    await counted('disable', setEnabled(endpoint, false));
    await sleep(1_000 * random());
    // If this request fails, the endpoint stays disabled until a later toggle or the end of the run.
    await counted('enable', setEnabled(endpoint, true));
  };
  const loop = async () => {
    while (!stopped.signal.aborted) {
      await act();
      await sleep(EVERY * 2 * random(), undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const looping = loop();
  return {
    answers,
    async stop() {
      stopped.abort();
      await looping;
    },
  };
}

export const setEnabled = ({ call, webhookId, url }: ActionEndpoint, enabled: boolean) =>
  call('PUT', `/webhook-endpoints/${webhookId}`, { url, enabled });

export const recover = ({ call, webhookId }: ActionEndpoint, since: string, include_missing = false) =>
  call('POST', `/webhook-endpoints/${webhookId}/recover`, { since, include_missing });
