import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { Webhook } from 'standardwebhooks';
import { openDatabase } from '../../src/platform/database/database.js';
import { migrate } from '../../src/platform/database/migrate.js';
import type { RuntimeRole } from '../../src/platform/database/roles.js';
import { newId } from '../../src/platform/ids.js';
import { removeExpiredEvents, removeExpiredRows, TABLES_WITH_EXPIRY } from '../../src/platform/retention.js';
import { accepted, must } from '../support/caller.js';
import { runCommand } from '../support/command.js';
import { splitRequest } from '../support/delivered.js';
import { createOwnedDatabase, openOwnedDatabase } from '../support/runtime-role.js';
import { startService } from '../support/service.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// `api` and `worker` as a deployment with all database roles runs them: `migrate` as the owner of the tables, the API and
// the worker each with its own role, and commands with the runtime role. This process is the client and the receiver.

/** The status of the receiver's responses. */
let responseStatus = 204;

const owned = await createOwnedDatabase();
await migrate(owned.ownerUrl, owned.roles);
const database = await openOwnedDatabase(owned);
const as = (role: RuntimeRole) => ({ DATABASE_URL: owned.urls[role].reveal() });
const service = await startService({
  ...{ database, roles: ['api', 'worker'], settings: { SANDBOX_STEP: '100ms' } },
  faults: { api: as('api'), worker: as('worker') },
  receive: (socket) => socket.write(`HTTP/1.1 ${responseStatus} x\r\nContent-Length: 0\r\n\r\n`),
});
const { call: client, credentials, receiver } = service;
const temporal = service.temporal.client;

const PATH = "/hooks/it's/in?tenant=a%20b&$filter='x'";

/** Makes a transfer PROCESSING with one new endpoint and no other. */
async function makeEvent(fields = {}) {
  for (const { webhookId } of (await must(client('GET', '/webhook-endpoints'))).data) {
    await must(client('DELETE', `/webhook-endpoints/${webhookId}`));
  }
  const webhookId = await service.register({ url: `${receiver.url}${PATH}`, ...fields });
  const transferId = await service.makeTransfer();
  await must(service.change(transferId));
  const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
  const [delivery] = (await must(client('GET', `/events/${event.id}/deliveries`))).data;
  return { webhookId, transferId, eventId: event.id as string, deliveryId: delivery.id as string };
}

const read = (deliveryId: string) => must(client('GET', `/deliveries/${deliveryId}`));
/** Runs a command as the runtime role. It must succeed. */
async function cli(...args: string[]) {
  const result = await runCommand([...args, '--json'], { ...service.env, ...as('runtime') });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return JSON.parse(result.stdout);
}
const retry = (deliveryId: string) => client('POST', `/deliveries/${deliveryId}/retry`);
const untilStatus = (deliveryId: string, status: string) =>
  waitFor(`the delivery to be ${status}`, async () => {
    const delivery = await read(deliveryId);
    return delivery.status === status && delivery;
  });

test('a change of status arrives byte for byte as documented, and Temporal shows it without secrets', async () => {
  const { eventId, transferId, deliveryId, webhookId } = await makeEvent();
  const raw = await waitFor('the delivery', () => receiver.requests[0]);
  const { head, body } = splitRequest(raw);

  const [requestLine, ...lines] = head.split('\r\n');
  expect(requestLine).toBe(`POST ${PATH} HTTP/1.1`);
  const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s).slice(0, 2)));
  expect(headers).toEqual({
    host: `127.0.0.1:${receiver.port}`,
    connection: 'keep-alive',
    Accept: '*/*',
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Webhooks/1.0',
    'Service-Signature': expect.stringMatching(/^t=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,v0=[0-9a-f]{64}$/),
    'content-length': String(body.length),
  });
  expect(lines).toHaveLength(Object.keys(headers).length);

  const event = JSON.parse(body);
  expect(body).toBe(
    `{"id":"${eventId}","version":"2026-11-21","type":"transfer.status_changed","data":{"id":"${transferId}","status":"PROCESSING"},"created_at":"${event.created_at}"}`,
  );
  expect(event.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/);

  const [, t, v0] = /^t=(.*),v0=(.*)$/.exec(headers['Service-Signature'] ?? '') ?? [];
  expect(createHmac('sha256', SECRET).update(`${t}.${body}`).digest('hex')).toBe(v0);

  const delivery = await untilStatus(deliveryId, 'succeeded');
  expect(delivery).toMatchObject({ event_id: eventId, webhookId, attempt_count: 1, next_attempt_at: null });
  expect(delivery.attempts).toEqual([
    expect.objectContaining({ number: 1, trigger: 'schedule', t, response_status: 204, error: null }),
  ]);
  expect(await must(client('GET', `/events/${eventId}`))).toEqual({
    ...event,
    deliveries: { pending: 0, succeeded: 1, failed: 0, cancelled: 0 },
  });

  const handle = temporal.workflow.getHandle(eventId);
  const description = await waitFor('its workflow to be completed', async () => {
    const found = await handle.describe().catch(() => undefined);
    return found?.status.name === 'COMPLETED' && found;
  });
  expect(description.type).toBe('deliverEvent');
  expect(await description.staticSummary()).toBe(
    `transfer.status_changed PROCESSING → 127.0.0.1:${receiver.port} …${webhookId.slice(-8)}`,
  );
  expect(description.searchAttributes).toMatchObject({
    ClientId: [credentials.client_id],
    TransferId: [transferId],
    EventType: ['transfer.status_changed'],
    WebhookIds: [webhookId],
    DeliveryState: ['delivered'],
  });
  expect(receiver.requests).toHaveLength(1);
  const history = textOf(await handle.fetchHistory());
  expect(history).toContain(deliveryId);
  for (const secret of [SECRET, '/hooks/', 'tenant', v0, event.created_at]) expect(history).not.toContain(secret);
});

test('first attempts, retries and checks of an endpoint carry its headers and the signature of Standard Webhooks', async () => {
  const before = receiver.requests.length;
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const { webhookId, eventId, deliveryId } = await makeEvent({
    ...{ signatures: ['standard'], secret },
    headers: [{ name: 'X-Api-Key', value: 'the gateway key' }],
  });
  await untilStatus(deliveryId, 'succeeded');
  await must(retry(deliveryId));
  await waitFor('the retry', () => receiver.requests.length === before + 2);
  // The API may not have seen yet that Temporal responds.
  await accepted(() => client('POST', `/webhook-endpoints/${webhookId}/checks`));
  await waitFor('the check', () => receiver.requests.length === before + 11);
  expect(
    receiver.requests.slice(before).filter((raw) => raw.includes('\r\nX-Api-Key: the gateway key\r\n')),
  ).toHaveLength(11);
  const verdicts = receiver.requests.slice(before).map((raw) => {
    const { head, body } = splitRequest(raw);
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(/: (.*)/s).slice(0, 2)),
    );
    const [, t, v0] = /^t=(.*),v0=(.*)$/.exec(headers['Service-Signature'] ?? '') ?? [];
    const isOurs = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex') === v0;
    try {
      const { id } = new Webhook(secret).verify(body, headers) as { id: string };
      return { isOurs, id: headers['webhook-id'] === id && id };
    } catch (error) {
      return { isOurs, refused: (error as Error).message };
    }
  });
  expect(verdicts).toEqual([
    ...Array(2).fill({ isOurs: true, id: eventId }),
    ...Array(5).fill({ isOurs: true, id: expect.any(String) }),
    { isOurs: true, refused: 'Message timestamp too old' },
    { isOurs: false, refused: 'No matching signature found' },
    { isOurs: false, refused: 'No matching signature found' },
    { isOurs: false, refused: 'Missing required headers' },
  ]);
});

test('a failed delivery waits on a timer in Temporal, a retry wakes it, and it can be retried again after its success', async () => {
  responseStatus = 503;
  const before = receiver.requests.length;
  const { eventId, deliveryId, webhookId } = await makeEvent();
  const failed = await waitFor('two failed attempts', async () => {
    const delivery = await read(deliveryId);
    return delivery.attempt_count === 2 && delivery;
  });
  expect(failed).toMatchObject({ status: 'pending', finished_at: null });
  expect(failed.attempts.map((a: { trigger: string }) => a.trigger)).toEqual(['schedule', 'schedule']);
  const [first, second] = failed.attempts;
  expect(second).toMatchObject({ response_status: 503, error: 'status' });
  expect(first.t < second.t).toBe(true);
  const rung = Date.parse(failed.next_attempt_at) - Date.parse(second.started_at) - second.duration_ms;
  // Each of its terms is rounded to 1 ms.
  expect(rung).toBeGreaterThanOrEqual(300_000 - 2);
  expect(rung).toBeLessThan(330_000);
  const handle = temporal.workflow.getHandle(eventId);
  // The workflow starts after the record. Its timer counts from the planned time, so it may be a little shorter.
  // On a busy machine the workflow starts some time after the attempts, and waits for the rest of the 5 minutes:
  // `298s`.
  await waitFor('its timer', async () => /attempt 3 to .+ waits ([2-5]m|[12]\d\ds)/.test(await shownBy(handle)));
  expect((await handle.describe()).status.name).toBe('RUNNING');

  responseStatus = 200;
  expect((await retry(deliveryId)).status).toBe(202);
  const delivered = await untilStatus(deliveryId, 'succeeded');
  expect(delivered.attempts).toHaveLength(3);
  expect(delivered.attempts[2]).toMatchObject({ number: 3, trigger: 'manual', response_status: 200 });
  await waitFor('its workflow to be completed', async () => (await handle.describe()).status.name === 'COMPLETED');

  expect((await retry(deliveryId)).status).toBe(202);
  const again = await waitFor('a fourth attempt', async () => {
    const delivery = await read(deliveryId);
    return delivery.attempt_count === 4 && delivery;
  });
  expect(again).toMatchObject({ status: 'succeeded', next_attempt_at: null });
  // The retry of an ended delivery is shown by a new run of the event's workflow.
  await waitFor('the fourth attempt in Temporal', async () => /"attemptCount":4/.test(await shownBy(handle)));
  const bodies = receiver.requests.slice(before).map((raw) => splitRequest(raw).body);
  expect(bodies).toHaveLength(4);
  expect(new Set(bodies).size).toBe(1);

  await must(client('PUT', `/webhook-endpoints/${webhookId}`, { url: receiver.url, enabled: false }));
  const refused = await retry(deliveryId);
  expect([refused.status, refused.body.code]).toEqual([409, 'endpoint_not_active']);
});

test('a delivery that failed, and an event that was missed, are recovered; the statement is complete then', async () => {
  const since = new Date().toISOString();
  responseStatus = 500;
  const { webhookId, deliveryId } = await makeEvent();
  await waitFor('a failure', async () => (await read(deliveryId)).attempt_count > 0);
  await cli('endpoints', 'disable', webhookId, '--yes');
  responseStatus = 204;
  await must(service.change(await service.makeTransfer()));
  await cli('endpoints', 'enable', webhookId);
  const window = { since, include_missing: true };
  const recovered = await must(client('POST', `/webhook-endpoints/${webhookId}/recover`, window));
  expect(recovered).toMatchObject({ count: 1, missing: 1 });
  const listed = `/webhook-endpoints/${webhookId}/deliveries?status=succeeded`;
  await waitFor('the recovered deliveries', async () => (await must(client('GET', listed))).data.length === 2);
  const statement = await must(client('GET', `/webhook-endpoints/${webhookId}/statement?since=${since}`));
  expect(statement).toMatchObject({ succeeded: 2, complete: true });
  const { attempt_count: before } = await read(deliveryId);
  await cli('deliveries', 'retry', deliveryId);
  await waitFor('another attempt', async () => (await read(deliveryId)).attempt_count > before);
});

test("the operator's commands, simulated transfers and retention need no more than the rights of their roles", async () => {
  const id = await service.makeTransfer({ destination: { name: 'Ada Lovelace', account: 'SANDBOX-COMPLETE' } });
  await waitFor('COMPLETED', async () => (await must(client('GET', `/transfers/${id}`))).status === 'COMPLETED');
  for (const command of ['rotate-secret', 'allow', 'console-link'])
    await cli('clients', command, credentials.client_id, ...(command === 'allow' ? ['127.0.0.0/8'] : []));
  await cli('keys', 'rotate');
  await cli('keys', 'rotate-master');
  const { checks } = await cli('doctor');
  expect(checks).toContainEqual(expect.objectContaining({ check: 'migrations', ok: true }));
  const entries = JSON.stringify(await cli('audit', 'list'));
  for (const action of ['clients.allow', 'keys.rotate', 'deliveries.retry', 'endpoints.disable'])
    expect(entries).toContain(action);
  const connected = openDatabase({ url: owned.urls.worker, poolSize: 2 });
  try {
    const { removed } = await removeExpiredEvents(connected, { before: newId(), after: null, limit: 100 });
    expect(removed).toBeGreaterThan(0);
    for (const table of TABLES_WITH_EXPIRY) await removeExpiredRows(connected, table, 0, 100);
  } finally {
    await connected.close();
  }
  const said = Object.values(service.running).flatMap((role) => role.said);
  expect(said.filter((line) => /permission denied|42501/.test(line))).toEqual([]);
});

/** Every text in the history of a workflow; empty while it has not started. */
const shownBy = (handle: WorkflowHandle) => handle.fetchHistory().then(textOf, () => '');

/** Every text in a history, with its payloads decoded. */
function textOf(history: unknown): string {
  const texts: string[] = [];
  const walk = (value: unknown) => {
    if (value instanceof Uint8Array) texts.push(Buffer.from(value).toString('utf8'));
    else if (typeof value === 'string') texts.push(value);
    else if (value instanceof Object) Object.values(value).forEach(walk);
  };
  walk(history);
  return texts.join('\n');
}
