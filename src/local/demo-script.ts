import { DemoApi } from './demo-api.js';
import { showCheck } from './demo-check.js';
import { showOutage } from './demo-outage.js';
import { type DemoReceiver, startDemoReceiver } from './demo-receiver.js';
import { chapter, green, red, say } from './demo-screen.js';
import { startService } from './demo-service.js';
import { readUntil } from './demo-wait.js';

interface Endpoint {
  webhookId: string;
  description: string | null;
}

interface Delivery {
  id: string;
  webhookId: string;
  attempt_count: number;
  next_attempt_at: string | null;
  attempts: { number: number; trigger: string; response_status: number | null }[];
}

const DEMO = 'demo';
/** Ends a process that the demo has started. */
export type Stop = () => Promise<void>;

/**
 * Shows the main function of the service with real processes, over HTTP. Adds a `Stop` for every process to `stops`.
 * @param once whether a service that the demo has started ends with the demo
 */
export async function playDemo(stops: Stop[], once: boolean): Promise<void> {
  const { client, startedHere } = await startService(stops);
  chapter(startedHere ? 'The service has started' : 'The service is already running');
  say('API', client.base_url);
  say('docs', `${client.base_url}/docs`);
  const workflows = `${client.temporal_ui_url}/namespaces/${client.temporal_namespace}/workflows`;
  say('Temporal', workflows);

  const api = new DemoApi(client);
  chapter('A client gets a token and registers an endpoint');
  say('token', `valid for ${await api.authenticate()} s`);
  await removeEarlierEndpoints(api);
  const good = await startDemoReceiver({ failFirst: 0 }, stops);
  const since = new Date().toISOString();
  const first = await register(api, good);

  chapter('The client creates a transfer; every status change arrives as a signed webhook');
  const transfer = await api.post<{ id: string; status: string }>('/transfers', {
    amount: { value: 1250, currency: 'EUR' },
    destination: { name: 'Ada Lovelace', account: 'DE02120300000000202051' },
    reference: 'Demo',
  });
  say('transfer', `${transfer.id}  12.50 EUR  ${transfer.status}`);
  for (const status of ['PROCESSING', 'SENT']) await changeAndReceive(api, good, transfer.id, status);

  chapter('A second endpoint returns 500 twice: the service retries on the ladder');
  const webhookId = await register(api, await startDemoReceiver({ failFirst: 2 }, stops));
  const eventId = await changeAndReceive(api, good, transfer.id, 'COMPLETED');
  await showLadder(api, eventId, webhookId);
  say('watch it', `${workflows}/${eventId}`);

  await showCheck(api, first);
  await showOutage(api, first, good, since);

  if (once && startedHere) return;
  chapter('See it in the console: while the service runs, this link signs you in once, within 5 minutes');
  const { url } = await api.post<{ url: string }>('/console-sessions', { role: 'editor' });
  say('console', url);
}

/** Deletes the endpoints of an earlier demo, whose receivers no longer run. */
async function removeEarlierEndpoints(api: DemoApi): Promise<void> {
  const { data } = await api.get<{ data: Endpoint[] }>('/webhook-endpoints?limit=100');
  for (const { webhookId, description } of data) {
    if (description === DEMO) await api.delete(`/webhook-endpoints/${webhookId}`);
  }
}

async function register(api: DemoApi, receiver: DemoReceiver): Promise<string> {
  const { url, secret } = receiver;
  const { webhookId } = await api.post<Endpoint>('/webhook-endpoints', { url, secret, description: DEMO });
  say('endpoint', `${webhookId}  → ${url}`);
  return webhookId;
}

/** @returns the event's id */
async function changeAndReceive(api: DemoApi, receiver: DemoReceiver, id: string, status: string): Promise<string> {
  const received = receiver.received(status);
  await api.post(`/sandbox/transfers/${id}/status`, { status });
  const answered = Date.now();
  const delivery = await received;
  const after = Math.max(0, Date.parse(delivery.received_at) - answered);
  const verdict = delivery.verified ? green('signature verified') : red('BAD SIGNATURE');
  say(status, `${delivery.type} ${after} ms after the response, ${verdict}`);
  say('', `Service-Signature: ${delivery.header.slice(0, 56)}…`);
  return delivery.id;
}

async function showLadder(api: DemoApi, eventId: string, webhookId: string): Promise<void> {
  const delivery = await waitForAttempts(api, eventId, webhookId, 2);
  for (const { number, response_status } of delivery.attempts) {
    say(
      `attempt ${number}`,
      `${red(String(response_status))}  ${number === 1 ? 'retried at once' : 'the next retry waits on a durable timer'}`,
    );
  }
  say('attempt 3', `at ${delivery.next_attempt_at} (5m, then 30m, 2h, 6h and 24h)`);
}

async function waitForAttempts(api: DemoApi, eventId: string, webhookId: string, count: number): Promise<Delivery> {
  return readUntil(`attempt ${count} of event ${eventId}`, async () => {
    const { data } = await api.get<{ data: Delivery[] }>(`/events/${eventId}/deliveries`);
    const found = data.find((delivery) => delivery.webhookId === webhookId);
    const delivery = found && (await api.get<Delivery>(`/deliveries/${found.id}`));
    return delivery && delivery.attempt_count >= count ? delivery : undefined;
  });
}
