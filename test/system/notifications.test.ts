import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from '@jest/globals';
import { verify } from '../../clients/typescript/src/verify.js';
import { listEntries } from '../../src/platform/audit.js';
import { freePort } from '../../src/platform/free-port.js';
import { must } from '../support/caller.js';
import { runCommand } from '../support/command.js';
import { makeEvent } from '../support/events.js';
import { startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

// A receiver that dies, followed from its first failure to those who are told. The whole service in one process.

const OPERATORS = 'a secret of the operator';
const CLIENTS = 'a secret of the client, for notifications';

interface Message {
  to: string;
  id: string;
  type: string;
  data: Record<string, unknown>;
}

const messages: Message[] = [];
/** The status of the receiver's responses. */
let status = 500;
/** The status of the responses of those who are told. */
let told = 204;

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const [path, body] = [request.url ?? '', Buffer.concat(chunks)];
  if (path === '/hooks') return void response.writeHead(status).end();
  const secret = path === '/operator' ? OPERATORS : CLIENTS;
  verify({ secret, header: request.headers['service-signature'] as string, body });
  messages.push({ to: path.slice(1), ...JSON.parse(body.toString()) });
  response.writeHead(told).end();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const metricsPort = await freePort();
const service = await startService({
  settings: {
    METRICS_PORT: String(metricsPort),
    ...{ NOTIFY_URL: `${url}/operator`, NOTIFY_SECRET: OPERATORS, DELIVERY_RETRY_DELAYS: '0s,1s' },
  },
});
const { call: client, database, running } = service;
const clientId = service.credentials.client_id;
const notify = ['clients', 'set-notify', clientId, '--url', `${url}/client`, '--secret', CLIENTS];
expect(await runCommand(notify, { ...service.env })).toMatchObject({ code: 0 });
const webhookId = await service.register({ url: `${url}/hooks` });
afterAll(() => new Promise((resolve) => server.close(resolve)));

const WAITING = `insert into outbox (event_id, client_id, state) values ($1::uuid, $2::uuid, 'start')`;

const change = async () => must(service.change(await service.makeTransfer()));
const ofType = (type: string) => messages.filter((message) => message.type === type);
const workflowsEnded = () =>
  waitFor('the end of the workflows', async () => (await database.prisma.workflowStart.count()) === 0);
const bothTold = (type: string) =>
  waitFor(`${type} for both`, () => new Set(ofType(type).map(({ to }) => to)).size === 2);

it('two workers, one of which is killed first, tell operator and client once of an endpoint that fails', async () => {
  told = 500;
  const other = await service.start('worker', { METRICS_PORT: '' });
  await change();
  await running.start.dieAt('before-notified');
  expect(await running.start.ended).toBe('SIGKILL');
  await service.start('start');
  await waitFor('a first try', () => ofType('endpoint.failing').length > 0);
  told = 204;
  await bothTold('endpoint.failing');
  const data = { client_id: clientId, client_name: 'test', webhookId, last_error: 'status', last_response_status: 500 };
  expect(ofType('endpoint.failing').at(-1)).toMatchObject({ data });
  expect(new Set(ofType('endpoint.failing').map(({ id }) => id)).size).toBe(1);
  await workflowsEnded();
  await other.stop();
  const where = { type: 'endpoint.failing' };
  expect(await database.prisma.notification.count({ where })).toBe(1);
});

it('workflows that are behind are told to the operator alone, even if the process is killed after the change', async () => {
  await running.start.stop();
  const at = Date.now() - 1_200_000;
  const eventId = await makeEvent(database, clientId, at);
  await database.query(WAITING, [eventId, clientId]);
  const { process: child, ended } = await service.start('start', { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  await waitFor('the change', () => database.prisma.notification.count({ where: { endpointId: null } }));
  child.kill('SIGKILL');
  await ended;
  await service.start('start');
  await waitFor('the message', () => ofType('workflows.behind').length > 0);
  const [message] = ofType('workflows.behind');
  expect(message).toMatchObject({ to: 'operator', data: { events: expect.any(Number) } });
  expect(Number(message?.data.oldest_age_seconds)).toBeGreaterThanOrEqual(1_200);
  await workflowsEnded();
});

it('an endpoint that is gone is told though the process is killed before it can tell, with its audit entry', async () => {
  await running.start.dieAt('before-notified');
  await running.start.ended;
  await service.start('start');
  await running.start.dieAt('after-notification-sent');
  status = 410;
  await change();
  expect(await running.start.ended).toBe('SIGKILL');
  await service.start('start');
  await database.query(`update workflow_starts set start_after = now()`, []);
  await bothTold('endpoint.disabled');
  expect(ofType('endpoint.disabled')[0]).toMatchObject({ data: { webhookId, reason: 'gone', cancelled: 0 } });
  const [entry] = await listEntries(database, { target: webhookId, actor: 'service', take: 10 });
  expect(entry).toMatchObject({ action: 'endpoints.disable', details: { client_id: clientId, reason: 'gone' } });
});

it('the gauge of the alerts counts the endpoint, and a success after it is enabled is told as its recovery', async () => {
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  expect(await metrics()).toContain('webhook_notified_endpoints{state="disabled"} 1');
  status = 204;
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: true }));
  await change();
  await bothTold('endpoint.recovered');
});
