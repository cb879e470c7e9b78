import { randomBytes } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { type Arrival, startReceiver } from '../../clients/typescript/src/cli/receiver.js';
import type { TransferServiceClient } from '../../clients/typescript/src/client.js';
import type { Statement } from '../../clients/typescript/src/types.js';
import { explain, untilSignalled } from '../process/lifecycle.js';
import { startService } from './demo-service.js';

const DEMO = 'demo';
type Stops = (() => Promise<unknown>)[];

/**
 * Shows the main functions of the service over HTTP, first those that need no Temporal. Adds to `stops` what ends the
 * service and each receiver.
 * @param once whether a service that the demo has started ends with the demo
 */
async function playDemo(stops: Stops, once: boolean): Promise<void> {
  const { sandbox, client, startedHere } = await startService(stops);
  chapter(startedHere ? 'The service has started' : 'The service is already running');
  say('API', sandbox.base_url);
  say('docs', `${sandbox.base_url}/docs`);

  chapter('A client gets a token and registers an endpoint');
  await removeEarlierEndpoints(client);
  const good = await startDemoReceiver(0, stops);
  const since = new Date().toISOString();
  const first = await register(client, good);

  chapter('The client creates a transfer; every status change arrives as a signed webhook');
  const transfer = await client.transfers.create({
    amount: { value: 1250, currency: 'EUR' },
    destination: DESTINATION,
    reference: 'Demo',
  });
  say('transfer', `${transfer.id}  12.50 EUR  ${transfer.status}`);
  for (const status of ['PROCESSING', 'SENT'] as const) await changeAndReceive(client, good, transfer.id, status);

  chapter('A second endpoint returns 500 twice: the service retries on the ladder');
  const webhookId = await register(client, await startDemoReceiver(2, stops));
  const eventId = await changeAndReceive(client, good, transfer.id, 'COMPLETED');
  await showLadder(client, eventId, webhookId);

  await showOutage(client, first, since);

  if (!once || !startedHere) {
    chapter('See it in the console: while the service runs, this link signs you in once, within 5 minutes');
    say('console', (await client.consoleSessions.create({ role: 'editor' })).url);
  }

  if (!(await untilTemporal(sandbox.base_url))) return;
  chapter("Temporal's UI shows each event: here the retry that waits on a durable timer");
  const workflows = `${sandbox.temporal_ui_url}/namespaces/${sandbox.temporal_namespace}/workflows`;
  say('Temporal', workflows);
  say('watch it', `${workflows}/${eventId}`);
  await showCheck(client, first);
  await showRecovery(client, first, good, since);
}

/** Waits for the service's Temporal, which may still be built. @returns false if there will be none */
async function untilTemporal(baseUrl: string): Promise<boolean> {
  for (let isAnnounced = false; ; await sleep(1_000)) {
    const { checks } = (await (await fetch(`${baseUrl}/readyz`)).json()) as { checks?: { temporal: string } };
    if (checks?.temporal === 'ok') return true;
    if (checks?.temporal === 'missing') {
      chapter('There is no Temporal, so the demo does not show its UI, the check of a receiver and the recovery');
      return false;
    }
    if (!isAnnounced)
      chapter('Temporal is starting: its UI, the check of a receiver and the recovery follow when it is up');
    isAnnounced = true;
  }
}

const DESTINATION = { name: 'Ada Lovelace', account: 'DE02120300000000202051' };

/** Deletes the endpoints of an earlier demo, whose receivers no longer run. */
async function removeEarlierEndpoints({ webhookEndpoints }: TransferServiceClient): Promise<void> {
  for await (const { webhookId, description } of webhookEndpoints.list({ limit: 100 })) {
    if (description === DEMO) await webhookEndpoints.delete(webhookId);
  }
}

type DemoReceiver = Awaited<ReturnType<typeof startDemoReceiver>>;

async function startDemoReceiver(failFirst: number, stops: Stops) {
  const secret = randomBytes(24).toString('base64url');
  const emitter = new EventEmitter();
  const onArrival = (arrival: Arrival) => emitter.emit('arrival', arrival);
  const { url, close } = await startReceiver({ port: 0, secret, failFirst, onArrival });
  stops.push(close);
  const arrivals = on(emitter, 'arrival');
  return {
    url,
    secret,
    /** The next delivery of an event whose transfer has the status `status`. */
    async received(status: string): Promise<Arrival> {
      for (;;) {
        const arrival: Arrival = (await arrivals.next()).value?.[0];
        if ((arrival.data as { status?: unknown } | null)?.status === status) return arrival;
      }
    },
  };
}

async function register({ webhookEndpoints }: TransferServiceClient, receiver: DemoReceiver): Promise<string> {
  const { url, secret } = receiver;
  const { webhookId } = await webhookEndpoints.register({ url, secret, description: DEMO });
  say('endpoint', `${webhookId}  → ${url}`);
  return webhookId;
}

/** @returns the event's id */
async function changeAndReceive(
  { sandbox }: TransferServiceClient,
  receiver: DemoReceiver,
  id: string,
  status: 'PROCESSING' | 'SENT' | 'COMPLETED',
): Promise<string> {
  const received = receiver.received(status);
  await sandbox.setTransferStatus(id, { status });
  const responded = Date.now();
  const { at, type, header, eventId, verified } = await received;
  const after = Math.max(0, at.getTime() - responded);
  say(status, `${type} ${after} ms after the response, ${verdictOn(verified)}`);
  say('', `Service-Signature: ${header?.slice(0, 56)}…`);
  return String(eventId);
}

const verdictOn = (verified: boolean) => (verified ? green('signature verified') : red('BAD SIGNATURE'));

async function showLadder(client: TransferServiceClient, eventId: string, webhookId: string): Promise<void> {
  const { attempts, next_attempt_at } = await readUntil(`attempt 2 of event ${eventId}`, async () => {
    const { data } = await client.events.listDeliveries(eventId).page();
    const found = data.find((delivery) => delivery.webhookId === webhookId);
    return found && found.attempt_count >= 2 ? client.deliveries.get(found.id) : undefined;
  });
  for (const { number, response_status } of attempts) {
    const next = number === 1 ? 'retried at once' : 'the next retry waits';
    say(`attempt ${number}`, `${red(String(response_status))}  ${next}`);
  }
  say('attempt 3', `at ${next_attempt_at} (5m, then 30m, 2h, 6h and 24h)`);
}

/** Checks the receiver as an integrator does before going live, and shows the report. */
async function showCheck({ webhookEndpoints }: TransferServiceClient, webhookId: string): Promise<void> {
  chapter('Before going live: the sandbox checks the receiver with nine requests, genuine and forged');
  const { id } = await webhookEndpoints.check(webhookId);
  const { status, cases } = await readUntil('the end of the check', async () => {
    const check = await webhookEndpoints.getCheck(webhookId, id);
    return check.status === 'running' ? undefined : check;
  });
  for (const { name, expected, response_status, passed, hint } of cases) {
    const verdict = passed ? green('right') : red(`WRONG: ${hint}`);
    say('', `${name.padEnd(18)} ${String(response_status).padEnd(4)} expected ${expected.padEnd(7)} ${verdict}`);
  }
  say('the check', status === 'passed' ? green('passed') : red(status));
}

/** How many events are created during the outage. */
const MISSED = 3;

/** Shows an outage: the endpoint is disabled while events are created, so that they have no delivery for it. */
async function showOutage(
  { webhookEndpoints, transfers, sandbox }: TransferServiceClient,
  webhookId: string,
  since: string,
): Promise<void> {
  chapter(
    `An outage: the endpoint is disabled while ${MISSED} events are created; the statement names what is missing`,
  );
  await webhookEndpoints.patch(webhookId, { enabled: false });
  for (let created = 0; created < MISSED; created++) {
    const { id } = await transfers.create({ amount: { value: 100, currency: 'EUR' }, destination: DESTINATION });
    await sandbox.setTransferStatus(id, { status: 'CANCELLED' });
  }
  await webhookEndpoints.patch(webhookId, { enabled: true });
  show('statement', await webhookEndpoints.statement(webhookId, { since }));
}

/**
 * Delivers what the endpoint missed, and proves it by the statement.
 * @param since the start of the statement's window
 */
async function showRecovery(
  { webhookEndpoints }: TransferServiceClient,
  webhookId: string,
  { received }: DemoReceiver,
  since: string,
): Promise<void> {
  chapter('The endpoint is enabled again, and a recovery with include_missing delivers what it missed');
  const { count, missing } = await webhookEndpoints.recover(webhookId, { since, include_missing: true });
  say('recover', `${missing} missing events get a delivery, ${count} ended deliveries start again`);
  for (let arrived = 0; arrived < MISSED; arrived++) {
    const { eventId, verified } = await received('CANCELLED');
    say(`event ${eventId?.slice(-8)}`, verdictOn(verified));
  }
  const complete = async () => {
    const now = await webhookEndpoints.statement(webhookId, { since });
    return now.complete ? now : undefined;
  };
  show('statement', await readUntil('a complete statement', complete));
}

function show(label: string, { events, succeeded, pending, missing, complete }: Statement): void {
  const verdict = complete ? green('complete') : red('not complete');
  say(label, `${events} events: ${succeeded} succeeded, ${pending} pending, ${missing} missing: ${verdict}`);
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

const LONGEST = 60_000;

/** Calls `read` until it returns a value. @throws Error after 60 s, which names `what` */
async function readUntil<T>(what: string, read: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + LONGEST; Date.now() < deadline; await sleep(100)) {
    const value = await read();
    if (value !== undefined) return value;
  }
  throw new Error(`${what} did not happen within ${LONGEST / 1_000} s`);
}

// `npm run demo`: shows the service at work. The service then stays up until Ctrl-C; with `--once` it ends at once.

const stops: Stops = [];
const once = process.argv.includes('--once');
const signalled = untilSignalled();
try {
  const finished = await Promise.race([playDemo(stops, once).then(() => true), signalled.then(() => false)]);
  if (finished && !once) {
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
