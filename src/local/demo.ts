import { setTimeout as sleep } from 'node:timers/promises';
import { explain, untilSignalled } from '../process/lifecycle.js';
import { type Api, type DemoReceiver, signIn, startDemoReceiver, startService } from './demo-processes.js';

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
/**
 * Shows the main function of the service with real processes, over HTTP. Adds a function to `stops` for every process, which ends it.
 * @param once whether a service that the demo has started ends with the demo
 */
async function playDemo(stops: (() => Promise<void>)[], once: boolean): Promise<void> {
  const { client, startedHere } = await startService(stops);
  chapter(startedHere ? 'The service has started' : 'The service is already running');
  say('API', client.base_url);
  say('docs', `${client.base_url}/docs`);
  const workflows = `${client.temporal_ui_url}/namespaces/${client.temporal_namespace}/workflows`;
  say('Temporal', workflows);

  chapter('A client gets a token and registers an endpoint');
  const { api, expiresIn } = await signIn(client);
  say('token', `valid for ${expiresIn} s`);
  await removeEarlierEndpoints(api);
  const good = await startDemoReceiver(0, stops);
  const since = new Date().toISOString();
  const first = await register(api, good);

  chapter('The client creates a transfer; every status change arrives as a signed webhook');
  const transfer = await api<{ id: string; status: string }>('POST', '/transfers', {
    amount: { value: 1250, currency: 'EUR' },
    destination: { name: 'Ada Lovelace', account: 'DE02120300000000202051' },
    reference: 'Demo',
  });
  say('transfer', `${transfer.id}  12.50 EUR  ${transfer.status}`);
  for (const status of ['PROCESSING', 'SENT']) await changeAndReceive(api, good, transfer.id, status);

  chapter('A second endpoint returns 500 twice: the service retries on the ladder');
  const webhookId = await register(api, await startDemoReceiver(2, stops));
  const eventId = await changeAndReceive(api, good, transfer.id, 'COMPLETED');
  await showLadder(api, eventId, webhookId);
  say('watch it', `${workflows}/${eventId}`);

  await showCheck(api, first);
  await showOutage(api, first, good, since);

  if (once && startedHere) return;
  chapter('See it in the console: while the service runs, this link signs you in once, within 5 minutes');
  const { url } = await api<{ url: string }>('POST', '/console-sessions', { role: 'editor' });
  say('console', url);
}

/** Deletes the endpoints of an earlier demo, whose receivers no longer run. */
async function removeEarlierEndpoints(api: Api): Promise<void> {
  const { data } = await api<{ data: Endpoint[] }>('GET', '/webhook-endpoints?limit=100');
  for (const { webhookId, description } of data) {
    if (description === DEMO) await api('DELETE', `/webhook-endpoints/${webhookId}`);
  }
}

async function register(api: Api, receiver: DemoReceiver): Promise<string> {
  const { url, secret } = receiver;
  const { webhookId } = await api<Endpoint>('POST', '/webhook-endpoints', { url, secret, description: DEMO });
  say('endpoint', `${webhookId}  → ${url}`);
  return webhookId;
}

/** @returns the event's id */
async function changeAndReceive(api: Api, receiver: DemoReceiver, id: string, status: string): Promise<string> {
  const received = receiver.received(status);
  await api('POST', `/sandbox/transfers/${id}/status`, { status });
  const answered = Date.now();
  const delivery = await received;
  const after = Math.max(0, Date.parse(delivery.received_at) - answered);
  const verdict = delivery.verified ? green('signature verified') : red('BAD SIGNATURE');
  say(status, `${delivery.type} ${after} ms after the response, ${verdict}`);
  say('', `Service-Signature: ${delivery.header.slice(0, 56)}…`);
  return delivery.id;
}

async function showLadder(api: Api, eventId: string, webhookId: string): Promise<void> {
  const delivery = await waitForAttempts(api, eventId, webhookId, 2);
  for (const { number, response_status } of delivery.attempts) {
    say(
      `attempt ${number}`,
      `${red(String(response_status))}  ${number === 1 ? 'retried at once' : 'the next retry waits on a durable timer'}`,
    );
  }
  say('attempt 3', `at ${delivery.next_attempt_at} (5m, then 30m, 2h, 6h and 24h)`);
}

async function waitForAttempts(api: Api, eventId: string, webhookId: string, count: number): Promise<Delivery> {
  return readUntil(`attempt ${count} of event ${eventId}`, async () => {
    const { data } = await api<{ data: Delivery[] }>('GET', `/events/${eventId}/deliveries`);
    const found = data.find((delivery) => delivery.webhookId === webhookId);
    const delivery = found && (await api<Delivery>('GET', `/deliveries/${found.id}`));
    return delivery && delivery.attempt_count >= count ? delivery : undefined;
  });
}

interface Check {
  status: 'running' | 'passed' | 'failed';
  cases: { name: string; expected: string; response_status: number | null; passed: boolean; hint: string | null }[];
}

/** Checks the receiver as an integrator does before going live, and shows the report. */
async function showCheck(api: Api, webhookId: string): Promise<void> {
  chapter('Before going live: the sandbox checks the receiver with nine requests, genuine and forged');
  const checks = `/webhook-endpoints/${webhookId}/checks`;
  const { id } = await api<{ id: string }>('POST', checks);
  const { status, cases } = await readUntil('the end of the check', async () => {
    const check = await api<Check>('GET', `${checks}/${id}`);
    return check.status === 'running' ? undefined : check;
  });
  for (const { name, expected, response_status, passed, hint } of cases) {
    const verdict = passed ? green('right') : red(`WRONG: ${hint}`);
    say('', `${name.padEnd(18)} ${String(response_status).padEnd(4)} expected ${expected.padEnd(7)} ${verdict}`);
  }
  say('the check', status === 'passed' ? green('passed') : red(status));
}

interface Statement {
  events: number;
  succeeded: number;
  pending: number;
  missing: number;
  complete: boolean;
}

/** How many events are made during the outage. */
const MISSED = 3;

/**
 * Shows an outage: the endpoint is disabled while events are made, so that they have no delivery for it. A recover makes
 * up for them, and the statements before and after prove it.
 * @param since the start of the statements' window
 */
async function showOutage(api: Api, webhookId: string, { url, received }: DemoReceiver, since: string): Promise<void> {
  chapter(`An outage: the endpoint is disabled, and ${MISSED} events are made meanwhile`);
  const endpoint = `/webhook-endpoints/${webhookId}`;
  const statement = () => api<Statement>('GET', `${endpoint}/statement?since=${since}`);
  const enabled = (value: boolean) => api('PUT', endpoint, { url, description: 'demo', enabled: value });
  await enabled(false);
  for (let made = 0; made < MISSED; made++) {
    const { id } = await api<{ id: string }>('POST', '/transfers', {
      amount: { value: 100, currency: 'EUR' },
      destination: { name: 'Ada Lovelace', account: 'DE02120300000000202051' },
    });
    await api('POST', `/sandbox/transfers/${id}/status`, { status: 'CANCELLED' });
  }
  await enabled(true);
  show('statement', await statement());

  chapter('The endpoint is enabled again, and a recover with include_missing delivers what it missed');
  const { count, missing } = await api<{ count: number; missing: number }>('POST', `${endpoint}/recover`, {
    since,
    include_missing: true,
  });
  say('recover', `${missing} missing events get a delivery, ${count} ended deliveries start again`);
  for (let arrived = 0; arrived < MISSED; arrived++) {
    const { id, verified } = await received('CANCELLED');
    say(`event ${id.slice(-8)}`, verified ? green('signature verified') : red('BAD SIGNATURE'));
  }
  const complete = async () => {
    const now = await statement();
    return now.complete ? now : undefined;
  };
  show('statement', await readUntil('a complete statement', complete));
}

function show(label: string, { events, succeeded, pending, missing, complete }: Statement): void {
  const verdict = complete ? green('complete') : red('not complete');
  say(label, `${events} events: ${succeeded} succeeded, ${pending} pending, ${missing} missing: ${verdict}`);
}

const coloured = (code: number) => (text: string) => (process.stdout.isTTY ? `\x1b[${code}m${text}\x1b[0m` : text);

const bold = coloured(1);
const red = coloured(31);
const green = coloured(32);

/** Begins a chapter of the demo. */
function chapter(title: string): void {
  console.log(`\n${bold(title)}`);
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

const stops: (() => Promise<void>)[] = [];
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
