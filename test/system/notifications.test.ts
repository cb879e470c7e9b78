import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from '@jest/globals';
import { verify } from '../../clients/typescript/src/verify.js';
import { listEntries } from '../../src/platform/audit.js';
import { freePort } from '../../src/platform/free-port.js';
import { must } from '../support/caller.js';
import { runCommand } from '../support/command.js';
import { makeEvent } from '../support/events.js';
import { makeItLongAgo } from '../support/long-ago.js';
import { startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

// Follows a receiver that dies, from its first failure to the notifications.

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
/** From then on, operator and client respond to notifications, the first time with 500. */
const listening = Promise.withResolvers<void>();

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const [path, body] = [request.url ?? '', Buffer.concat(chunks)];
  if (path === '/hooks') return void response.writeHead(status).end();
  const secret = path === '/operator' ? OPERATORS : CLIENTS;
  verify({ secret, header: request.headers['service-signature'] as string, body });
  messages.push({ to: path.slice(1), ...JSON.parse(body.toString()) });
  const told = messages.length === 1 ? 500 : 204;
  await listening.promise;
  response.writeHead(told).end();
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const metricsPort = await freePort();
const service = await startService({
  roles: ['api'],
  settings: { NOTIFY_URL: `${url}/operator`, NOTIFY_SECRET: OPERATORS, DELIVERY_RETRY_DELAYS: '0s' },
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
const count = (type: string) => database.prisma.notification.count({ where: { type } });
const bothTold = (type: string) =>
  waitFor(`${type} for both`, () => new Set(ofType(type).map(({ to }) => to)).size === 2);

it('a failing endpoint is notified once, and late workflows to the operator alone, although workers are killed', async () => {
  await database.query(WAITING, [await makeEvent(database, clientId, Date.now() - 1_200_000), clientId]);
  await change();
  await service.start('worker', { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  await waitFor('both needs', async () => (await count('endpoint.failing')) + (await count('workflows.behind')) === 2);
  running.worker.process.kill('SIGKILL');
  await running.worker.ended;
  await service.start('worker');
  await running.worker.dieAt('after-notification-sent');
  listening.resolve();
  expect(await running.worker.ended).toBe('SIGKILL');
  await makeItLongAgo(database, service.temporal.client);
  await service.start('worker', { METRICS_PORT: String(metricsPort) });
  await bothTold('endpoint.failing');
  await waitFor('the other message', () => ofType('workflows.behind').length > 0);
  await waitFor('the end of the workflows', async () => (await database.prisma.workflowStart.count()) === 0);
  const data = { client_id: clientId, client_name: 'test', webhookId, last_error: 'status', last_response_status: 500 };
  expect(ofType('endpoint.failing').at(-1)).toMatchObject({ data });
  expect(new Set(ofType('endpoint.failing').map(({ id }) => id)).size).toBe(1);
  const behind = ofType('workflows.behind');
  expect(behind).toMatchObject(behind.map(() => ({ to: 'operator', data: { events: expect.any(Number) } })));
  expect(Number(behind[0]?.data.oldest_age_seconds)).toBeGreaterThanOrEqual(1_200);
  expect([await count('endpoint.failing'), await count('workflows.behind')]).toEqual([1, 1]);
});

it('an endpoint that is gone is notified and audited, and its recovery is notified once it is enabled', async () => {
  status = 410;
  await change();
  await bothTold('endpoint.disabled');
  expect(ofType('endpoint.disabled')[0]).toMatchObject({ data: { webhookId, reason: 'gone', cancelled: 0 } });
  const [entry] = await listEntries(database, { target: webhookId, actor: 'service', take: 10 });
  expect(entry).toMatchObject({ action: 'endpoints.disable', details: { client_id: clientId, reason: 'gone' } });
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  await waitFor('the gauge of the alerts', async () =>
    (await metrics()).includes('webhook_notified_endpoints{state="disabled"} 1'),
  );
  status = 204;
  await must(client('PATCH', `/webhook-endpoints/${webhookId}`, { enabled: true }));
  await change();
  await bothTold('endpoint.recovered');
});
