import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import { TransferServiceError } from '../../../clients/typescript/src/error.js';
import { openFolder } from '../../support/folder.js';
import { startService } from '../../support/service.js';
import { endpointRequest, SECRET, transferRequest } from '../../support/transfers.js';
import { closeServers, FRAMEWORKS } from '../../support/webhook-frameworks.js';

// The client and its CLI against the real service.

const service = await startService();
const { client_id: clientId, client_secret: clientSecret } = service.credentials;
const login = { baseUrl: service.at.base_url, clientId, clientSecret };
const client = new TransferServiceClient(login);
const acceptsAll = await service.register();
const folder = openFolder();
writeFileSync(join(folder, 'credentials.json'), JSON.stringify({ base_url: login.baseUrl, ...service.credentials }));
writeFileSync(join(folder, 'secret'), `${SECRET}\n`);
afterEach(closeServers);
function startCli(...args: string[]) {
  const given = args.includes('--credentials') ? args : [...args, '--credentials', 'credentials.json'];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const bin = join(import.meta.dirname, '../../../clients/typescript/bin.js');
  return spawn(process.execPath, [bin, ...given], {
    cwd: folder,
    env: { PATH, NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function runCli(...args: string[]) {
  const child = startCli(...args);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

/** Repeats a call with the key of its error, as the README says, until it is known whether it took effect. */
async function persistently<T>(call: (idempotencyKey?: string) => Promise<T>): Promise<T> {
  for (let key: string | undefined; ; ) {
    try {
      return await call(key);
    } catch (error) {
      // A busy machine may answer 503 longer than the client tries.
      const isOpen = error instanceof TransferServiceError && (error.status === undefined || error.status === 503);
      if (!isOpen) throw error;
      key = error.idempotencyKey;
    }
  }
}

describe('the API', () => {
  test('responds to each kind of call, and its errors have their codes', async () => {
    const transfer = await client.transfers.create(transferRequest());
    const moved = await client.sandbox.setTransferStatus(transfer.id, { status: 'PROCESSING' });
    expect(moved.status).toBe('PROCESSING');
    await service.untilDelivered();
    const [event] = (await client.events.list({ transfer_id: transfer.id }).page()).data;
    const [delivery] = (await client.events.listDeliveries(event!.id).page()).data;
    expect((await client.deliveries.get(delivery!.id)).attempts).toHaveLength(1);
    expect((await client.service.meta()).environment).toBe('sandbox');
    expect((await client.service.jwks()).keys).not.toEqual([]);
    await expect(client.transfers.cancel(transfer.id)).rejects.toMatchObject({
      code: 'invalid_transition',
      status: 409,
    });
    await expect(client.webhookEndpoints.register(endpointRequest({ url: 'no url' }) as never)).rejects.toMatchObject({
      code: 'invalid_request',
      errors: [expect.objectContaining({ pointer: '/url' })],
      requestId: expect.stringMatching(/./),
    });
    const wrong = new TransferServiceClient({ ...login, clientSecret: 'wrong' });
    await expect(wrong.transfers.list().page()).rejects.toMatchObject({ code: 'invalid_client', status: 401 });
  });
});

test('kill -9 of the service after its commit: a repeat with the key of the error makes no second change', async () => {
  const { id } = await client.transfers.create(transferRequest());
  const change = (idempotencyKey?: string) =>
    client.sandbox.setTransferStatus(
      id,
      { status: 'PROCESSING' },
      idempotencyKey === undefined ? {} : { idempotencyKey },
    );
  const changed = await service.dieAndStart('after-commit', () => persistently(change));
  expect(changed).toMatchObject({ id, status: 'PROCESSING' });
  await service.untilDelivered();
  expect((await client.transfers.get(id)).status_history).toHaveLength(2);
});

describe('the CLI', () => {
  test('forward posts each event from now on, signed, to the receiver, and trigger waits for its webhooks', async () => {
    const seen: string[] = [];
    const url = await FRAMEWORKS.express!({
      secret: SECRET,
      onEvent: ({ data }) => {
        seen.push(`${data.id} ${data.status}`);
      },
    });
    const old = await client.transfers.create(transferRequest());
    await client.sandbox.setTransferStatus(old.id, { status: 'PROCESSING' });
    const listener = startCli('forward', '--to', url, '--secret-file', 'secret', '--json');
    const lines = createInterface({ input: listener.stdout })[Symbol.asyncIterator]();
    const next = async () => JSON.parse((await lines.next()).value ?? '{}');
    expect(await next()).toMatchObject({ environment: 'sandbox', to: url });
    const { code, stdout, stderr } = await runCli('trigger', '--outcome', 'SANDBOX-FAIL-INSUFFICIENT_FUNDS', '--json');
    expect([code, stderr]).toEqual([0, '']);
    const { transfer_id: id, events } = JSON.parse(stdout);
    expect(events).toMatchObject([
      { status: 'PROCESSING', deliveries: [{ status: 'succeeded', response_status: 204 }] },
      { status: 'FAILED', deliveries: [{ status: 'succeeded', response_status: 204 }] },
    ]);
    expect(await next()).toMatchObject({ data: { id, status: 'PROCESSING' }, status: 204, error: null });
    expect(await next()).toMatchObject({ data: { id, status: 'FAILED' }, status: 204, error: null });
    expect(seen).toEqual([`${id} PROCESSING`, `${id} FAILED`]);
    listener.kill('SIGINT');
    await once(listener, 'close');
    expect(listener.exitCode).toBe(0);
  });

  test('a receiver with the package passes the receiver check, and one that accepts everything fails it', async () => {
    const url = await FRAMEWORKS.express!({ secret: SECRET, onEvent: () => {} });
    const { webhookId } = await client.webhookEndpoints.register({ url, secret: SECRET });
    const passed = await runCli('check', webhookId, '--json');
    expect([passed.code, passed.stderr]).toEqual([0, '']);
    expect(JSON.parse(passed.stdout).cases).toHaveLength(9);
    await client.webhookEndpoints.delete(webhookId);
    const { code, stdout } = await runCli('check', acceptsAll);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^passed valid: 204$/m);
    expect(stdout).toMatch(/^FAILED wrong_secret: 204, expected refused\. .+$/m);
    expect(stdout).toMatch(/^the receiver has failed the check\n$/m);
  });
});
