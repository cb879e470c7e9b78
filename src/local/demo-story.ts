import { setTimeout as sleep } from 'node:timers/promises';
import { DemoApi } from './demo-api.js';
import { type DemoReceiver, startDemoReceiver } from './demo-receiver.js';
import { startService } from './demo-service.js';

interface Endpoint {
  webhookId: string;
  description: string | null;
}

interface Delivery {
  id: string;
  webhookId: string;
  next_attempt_at: string | null;
  attempts: { number: number; trigger: string; response_status: number | null }[];
}

const DEMO = 'demo';
const bold = (text: string) => (process.stdout.isTTY ? `\x1b[1m${text}\x1b[0m` : text);
const green = (text: string) => (process.stdout.isTTY ? `\x1b[32m${text}\x1b[0m` : text);
const red = (text: string) => (process.stdout.isTTY ? `\x1b[31m${text}\x1b[0m` : text);
const chapter = (title: string) => console.log(`\n${bold(title)}`);
const say = (label: string, text: string) => console.log(`   ${label.padEnd(12)} ${text}`);

/** What ends a process that the demo has started. */
export type Stop = () => Promise<void>;

/** Plays the service's main job with real parts, over HTTP. Every process it starts adds to `stops`. */
export async function tellStory(stops: Stop[]): Promise<void> {
  const { client, startedHere } = await startService(stops);
  chapter(`The service ${startedHere ? 'is up' : 'runs already'}`);
  say('API', client.base_url);
  say('docs', `${client.base_url}/docs`);
  say('Temporal', client.temporal_ui_url);

  const api = new DemoApi(client);
  chapter('A client gets a token and registers an endpoint');
  say('token', `good for ${await api.authenticate()} s`);
  await removeEarlierEndpoints(api);
  const good = await startDemoReceiver({ failFirst: 0 }, stops);
  await register(api, good);

  chapter('It makes a transfer; every change of status arrives, signed');
  const transfer = await api.post<{ id: string; status: string }>('/transfers', {
    amount: { value: 1250, currency: 'EUR' },
    destination: { name: 'Ada Lovelace', account: 'DE02120300000000202051' },
    reference: 'Demo',
  });
  say('transfer', `${transfer.id}  12.50 EUR  ${transfer.status}`);
  for (const status of ['PROCESSING', 'SENT']) await changeAndReceive(api, good, transfer.id, status);

  chapter('A second endpoint answers 500 twice: the ladder');
  const webhookId = await register(api, await startDemoReceiver({ failFirst: 2 }, stops));
  const eventId = await changeAndReceive(api, good, transfer.id, 'COMPLETED');
  await showLadder(api, eventId, webhookId);
  say('watch it', `${client.temporal_ui_url}/namespaces/${client.temporal_namespace}/workflows/${eventId}`);
}

/** A demo before this one left endpoints whose receivers are gone. */
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
  say(status, `${delivery.type} ${after} ms after the answer, ${verdict}`);
  say('', `Service-Signature: ${delivery.header.slice(0, 56)}…`);
  return delivery.id;
}

async function showLadder(api: DemoApi, eventId: string, webhookId: string): Promise<void> {
  const delivery = await waitForAttempts(api, eventId, webhookId, 2);
  for (const { number, response_status } of delivery.attempts) {
    say(
      `attempt ${number}`,
      `${red(String(response_status))}  ${number === 1 ? 'tried again at once' : 'it waits, durably'}`,
    );
  }
  say('attempt 3', `at ${delivery.next_attempt_at} (5m, then 30m, 2h, 6h and 24h)`);
}

async function waitForAttempts(api: DemoApi, eventId: string, webhookId: string, count: number): Promise<Delivery> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(100)) {
    const { data } = await api.get<{ data: Delivery[] }>(`/events/${eventId}/deliveries`);
    const found = data.find((delivery) => delivery.webhookId === webhookId);
    const delivery = found && (await api.get<Delivery>(`/deliveries/${found.id}`));
    if (delivery && delivery.attempts.length >= count) return delivery;
  }
  throw new Error(`event ${eventId} has not had ${count} attempts within 60 s`);
}
