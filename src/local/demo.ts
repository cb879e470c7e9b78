import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { type Arrival, startReceiver } from '../../clients/typescript/src/cli/receiver.js';
import type { TransferServiceClient } from '../../clients/typescript/src/client.js';
import { explain, untilSignalled } from '../process/lifecycle.js';
import { startService } from './demo-service.js';
import { openShop, untilShipped } from './demo-shop.js';

type Stops = (() => Promise<unknown>)[];

/** The description of an endpoint of the demo. */
const DEMO = 'demo';

/**
 * Shows the main functions of the service over HTTP. Adds to `stops` what ends the service and each receiver.
 * @param isOnce whether the service ends with the demo
 */
async function playDemo(stops: Stops, isOnce: boolean): Promise<void> {
  const { sandbox, client } = await startService(stops);
  chapter('The service has started');
  say('API', sandbox.base_url);
  say('docs', `${sandbox.base_url}/docs`);

  chapter('A client gets a token and registers an endpoint');
  for await (const { webhookId, description } of client.webhookEndpoints.list()) {
    // A demo that was killed has left it.
    if (description === DEMO) await client.webhookEndpoints.delete(webhookId);
  }
  const good = await startDemoReceiver(0, stops);
  await register(client, good, stops);

  chapter('The client creates a transfer; every status change arrives as a signed webhook');
  const transfer = await client.transfers.create({
    amount: { value: 1250, currency: 'EUR' },
    destination: { name: 'Ada Lovelace', account: 'DE02120300000000202051' },
    reference: 'Demo',
  });
  say('transfer', `${transfer.id}  12.50 EUR  ${transfer.status}`);
  for (const status of ['PROCESSING', 'SENT'] as const) await changeAndReceive(client, good, transfer.id, status);

  chapter('A second endpoint returns 500 twice: the service retries on the ladder');
  const webhookId = await register(client, await startDemoReceiver(2, stops), stops);
  const eventId = await changeAndReceive(client, good, transfer.id, 'COMPLETED');
  await showLadder(client, eventId, webhookId);

  if (!isOnce) {
    chapter('See it in the console: while the service runs, this link signs you in once, within 5 minutes');
    say('console', (await client.consoleSessions.create({ role: 'editor' })).url);
  }

  chapter("Temporal's UI, as soon as Temporal is up: here the event whose retry waits on a durable timer");
  const workflows = `${sandbox.temporal_ui_url}/namespaces/${sandbox.temporal_namespace}/workflows`;
  say('Temporal', workflows);
  say('watch it', `${workflows}/${eventId}`);

  await missNothing(client, sandbox.database_url, stops);
}

/** Transfers that complete while the shop's receiver is down. */
const MISSED = 10;

/** The receiver's half: an inbox that misses nothing, and the proof. */
async function missNothing(client: TransferServiceClient, databaseUrl: string, stops: Stops) {
  chapter(`A shop's receiver is down while ${MISSED} transfers complete; its inbox misses none`);
  const shop = await openShop(client, databaseUrl, DEMO);
  stops.unshift(() => shop.remove());
  say('endpoint', `${shop.webhookId}  → ${shop.url}`);
  await shop.down();
  for (let i = 0; i < MISSED; i++) {
    const amount = { value: 100 + i, currency: 'EUR' };
    const { id } = await client.transfers.create({ amount, destination: { name: 'Ada', account: `DEMO-${i}` } });
    for (const status of ['PROCESSING', 'SENT', 'COMPLETED'] as const) {
      await client.sandbox.setTransferStatus(id, { status });
    }
  }
  const until = new Date();
  say('down', `${MISSED} transfers completed, ${await shop.shipments()} goods shipped`);
  await shop.up();
  say('up again', `${await untilShipped(shop, MISSED)} goods shipped, each once`);
  say('statement', 'is final and signed a minute after its window has ended: wait for it');
  await sleep(Math.max(0, until.getTime() + 62_000 - Date.now()));
  const { proven, statement } = await shop.prove(until);
  const verdict =
    proven && statement.signature ? green('the signature is verified, and the shop has') : red('NOT PROVEN:');
  say('proof', `${verdict} exactly its ${statement.events} events`);
}

type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;

/** `arrivals` emits each arrival by the status of its transfer. */
async function startDemoReceiver(failFirst: number, stops: Stops) {
  const secret = randomBytes(24).toString('base64url');
  const arrivals = new EventEmitter();
  const onArrival = (arrival: Arrival) => arrivals.emit(String(Object(arrival.data).status), arrival);
  const { url, close } = await startReceiver({ port: 0, secret, failFirst, onArrival });
  stops.push(close);
  return { url, secret, arrivals };
}

async function register({ webhookEndpoints }: TransferServiceClient, receiver: DemoReceiver, stops: Stops) {
  const { url, secret } = receiver;
  const { webhookId } = await webhookEndpoints.register({ url, secret, description: DEMO });
  // While the service still runs: it would deliver to a receiver that is gone.
  stops.unshift(() => webhookEndpoints.delete(webhookId).catch(() => {}));
  say('endpoint', `${webhookId}  → ${url}`);
  return webhookId;
}

/** @returns the event's id */
async function changeAndReceive(
  { sandbox }: TransferServiceClient,
  { arrivals }: DemoReceiver,
  id: string,
  status: 'PROCESSING' | 'SENT' | 'COMPLETED',
): Promise<string> {
  const arrived = once(arrivals, status);
  await sandbox.setTransferStatus(id, { status });
  const responded = Date.now();
  const { at, type, header, eventId, verified }: Arrival = (await arrived)[0];
  const after = Math.max(0, at.getTime() - responded);
  const verdict = verified ? green('signature verified') : red('BAD SIGNATURE');
  say(status, `${type} ${after} ms after the response, ${verdict}`);
  say('', `Service-Signature: ${header?.slice(0, 56)}…`);
  return String(eventId);
}

async function showLadder(client: TransferServiceClient, eventId: string, webhookId: string): Promise<void> {
  const limit = AbortSignal.timeout(60_000);
  let delivery: { id: string; attempt_count: number } | undefined;
  for (; !delivery || delivery.attempt_count < 2; await sleep(100)) {
    limit.throwIfAborted();
    const { data } = await client.events.listDeliveries(eventId).page();
    delivery = data.find((one) => one.webhookId === webhookId);
  }
  const { attempts, next_attempt_at } = await client.deliveries.get(delivery.id);
  for (const { number, response_status } of attempts) {
    const next = number === 1 ? 'retried at once' : 'the next retry waits';
    say(`attempt ${number}`, `${red(String(response_status))}  ${next}`);
  }
  say('attempt 3', `at ${next_attempt_at} (5m, then 30m, 2h, 6h and 24h)`);
}

const red = (text: string) => styleText('red', text);
const green = (text: string) => styleText('green', text);

/** Begins a chapter of the demo. */
function chapter(title: string): void {
  console.log(`\n${styleText('bold', title)}`);
}

/** Prints a line of the demo. */
function say(label: string, text: string): void {
  console.log(`   ${label.padEnd(12)} ${text}`);
}

// `npm run demo`: shows the service at work. The service then stays up until Ctrl-C; with `--once` it ends at once.

const stops: Stops = [];
const isOnce = process.argv.includes('--once');
const signalled = untilSignalled();
// A terminal that has closed cannot be written.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
try {
  const finished = await Promise.race([playDemo(stops, isOnce).then(() => true), signalled.then(() => false)]);
  if (finished && !isOnce) {
    console.log('\nThe service stays up. Press Ctrl-C to stop it.');
    await signalled;
  }
} catch (error) {
  for (const line of explain(error)) console.error(line);
  process.exitCode = 1;
} finally {
  // The service ends first, so that its receivers are reachable until then.
  for (const stop of stops) await stop();
}
process.exit();
