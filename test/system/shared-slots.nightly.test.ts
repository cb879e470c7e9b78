import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accepted, must } from '../support/caller.js';
import { createDeployment, type Deployment } from '../support/deployment.js';
import { atOnce } from '../support/load.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Several workers as separate processes, and one slow receiver that counts its concurrent requests.

const ANSWERS_AFTER = 300;
const DEPLOYMENT_LIMIT = 6;

const roles: RoleProcess[] = [];
const workers: { process: RoleProcess; metrics: string }[] = [];
let deployment: Deployment;
let api: RoleProcess;

beforeAll(async () => {
  // What an event's workflow costs would hide what its attempts wait for.
  deployment = await createDeployment({
    ENDPOINT_CONCURRENCY: String(DEPLOYMENT_LIMIT),
    WORKFLOWS: 'retries-only',
  });
  api = startRole('api', deployment.env);
  roles.push(api);
  await api.ready;
});

afterAll(async () => {
  await Promise.all(roles.map((role) => role.stop()));
  await Promise.all(servers.map((server) => close(server)));
  await deployment?.close();
});

/** Ends or starts workers until `count` are alive, and waits until each counts all of them. */
async function haveWorkers(count: number): Promise<void> {
  while (workers.length > count) {
    const { process } = workers.pop() as (typeof workers)[number];
    process.process.kill('SIGKILL');
    await process.ended;
  }
  const missing = Array.from({ length: count - workers.length }, () => startRole('worker', deployment.env));
  roles.push(...missing);
  workers.push(
    ...(await Promise.all(missing.map(async (process) => ({ process, metrics: await metricsOf(process) })))),
  );
  await waitFor('each worker to count all workers', async () => {
    const counted = await Promise.all(workers.map(({ metrics }) => countWorkers(metrics)));
    return counted.every((one) => one === count);
  });
}

async function metricsOf({ process, ready }: RoleProcess): Promise<string> {
  const [line] = await Promise.all([once(process.stdout as NonNullable<typeof process.stdout>, 'data'), ready]);
  return `${String(line[0]).trim().replace('ready ', '')}/metrics`;
}

async function countWorkers(url: string): Promise<number> {
  const text = await (await fetch(url)).text();
  return Number(/^webhook_workers (\d+)$/m.exec(text)?.[1]);
}

const servers: Server[] = [];

function close(server: Server): Promise<unknown> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

/**
 * A client with one endpoint. Its receiver keeps the first requests until it has as many at once as the limit, however
 * slowly a busy machine sends them; from then on each takes its time.
 */
async function startSlow(limit: number | null) {
  const counts = { now: 0, most: 0, answered: 0 };
  const server = createServer((request, response) => {
    counts.now++;
    counts.most = Math.max(counts.most, counts.now);
    request.resume();
    request.on('end', async () => {
      while (counts.most < (limit ?? DEPLOYMENT_LIMIT) && !response.destroyed) await sleep(20);
      await sleep(ANSWERS_AFTER);
      counts.now--;
      counts.answered++;
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const client = await deployment.createClient();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { webhookId } = await must(
    client('POST', '/webhook-endpoints', { url, secret: SECRET, max_concurrency: limit }),
  );
  return { counts, client, webhookId };
}

/** Makes so many events and waits until all are delivered. */
async function deliver({ counts, client, webhookId }: Awaited<ReturnType<typeof startSlow>>, events: number) {
  Object.assign(counts, { most: 0, answered: 0 });
  const ids: string[] = [];
  await atOnce(8, Array(events).fill(0), async () => {
    ids.push((await accepted(() => client('POST', '/transfers', transferRequest()))).id);
  });
  await atOnce(8, ids, async (id) => {
    await accepted(() => client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
  });
  await waitFor('all to be delivered', async () => {
    const path = `/webhook-endpoints/${webhookId}/deliveries?status=pending&limit=1`;
    return (await accepted(() => client('GET', path))).data.length === 0;
  });
  expect(counts.answered).toBe(events);
  return counts.most;
}

test('with three workers an endpoint has as many requests at once as its limit, and never more', async () => {
  await haveWorkers(3);
  const [own, common, small] = [await startSlow(10), await startSlow(null), await startSlow(1)];
  const most = await Promise.all([deliver(own, 40), deliver(common, 24), deliver(small, 4)]);
  expect(most).toEqual([10, DEPLOYMENT_LIMIT, 1]);
});

test('after kill -9 of one of three workers the others have the whole limit', async () => {
  await haveWorkers(3);
  await haveWorkers(2);
  const receiver = await startSlow(9);
  expect(await deliver(receiver, 40)).toBe(9);
});
