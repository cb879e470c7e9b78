import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { caller, must } from '../support/caller.js';
import { type CliResult, runCli } from '../support/cli.js';
import { runCommand } from '../support/command.js';
import { commandLines, filesBelow, findLeaks, type Trace, trace } from '../support/leaks.js';
import { makeLocalDir } from '../support/local-dir.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { dumpOfEveryTable, histories } from '../support/stored-traces.js';
import { transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// Searches everything that an operator, a client or a thief can see of the whole stack for every secret.

const ENDPOINT_SECRETS = {
  'the secret of a healthy endpoint': 'healthy "quoted" \\ s3cr3t',
  'the secret of a failing endpoint': 'failing+s3cr3t/of=an-endpoint',
  'the secret of a gone endpoint': 'gone.s3cr3t.of.an.endpoint',
  'the secret of a deleted endpoint': 'deleted~s3cr3t~of~an~endpoint',
  'the value of a header': 'gateway "k3y" of an endpoint',
  'a secret that was refused': 'refused-s3cr3t-é-of-an-endpoint',
};

const localDir = makeLocalDir();
const responses: Trace[] = [];
const commands: Trace[] = [];
let service: ServiceProcess;
let receiver: RawReceiver;
let responseStatus = 500;
let temporal: Client;
/** The secrets by name. They are added as they are made. */
const secrets: Record<string, string> = { ...ENDPOINT_SECRETS };

beforeAll(async () => {
  service = await startService(localDir.path, { LOG_LEVEL: 'debug' });
  const { temporal_address: address, temporal_namespace: namespace } = service.sandbox;
  temporal = new Client({ connection: await Connection.connect({ address }), namespace });
  receiver = await startRawReceiver((socket) => {
    const [line] = receiver.requests.at(-1)?.split('\r\n') ?? [];
    const status = line?.includes('/gone') ? 410 : line?.includes('/healthy') ? 204 : responseStatus;
    socket.write(`HTTP/1.1 ${status} x\r\nContent-Length: 0\r\n\r\n`);
  });
}, 240_000);

afterAll(async () => {
  await temporal?.connection.close();
  await receiver?.close();
  await service?.stop();
  await localDir.remove();
});

/** Sends a request and keeps its response for the search. */
async function call(
  method: string,
  path: string,
  options: { token?: string; json?: unknown; raw?: string; headers?: Record<string, string> } = {},
) {
  const { token, json, raw = json === undefined ? undefined : JSON.stringify(json), headers } = options;
  const reply = await fetch(service.sandbox.base_url + path, {
    method,
    headers: {
      ...(raw !== undefined && { 'Content-Type': 'application/json' }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: raw ?? null,
  });
  const text = await reply.text();
  responses.push(
    trace(
      `the response ${reply.status} to ${method} ${path.split('?')[0]}`,
      `${JSON.stringify([...reply.headers])}\n${text}`,
    ),
  );
  return { status: reply.status, text };
}

/** Asks for a token. Only this response may contain one, so it is not kept. */
async function tokenOf(
  name: string,
  { client_id, client_secret }: { client_id: string; client_secret: string },
): Promise<string> {
  const { base_url } = service.sandbox;
  const reply = await fetch(`${base_url}/oauth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_id, client_secret, audience: base_url, grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await reply.json()) as { access_token: string };
  secrets[`the secret of ${name}`] = client_secret;
  secrets[`a token of ${name}`] = token;
  secrets[`the signature of a token of ${name}`] = token.split('.')[2] as string;
  return token;
}

async function cli(args: string[], env: Record<string, string> = {}, run = runCommand): Promise<CliResult> {
  const result = await run(args, { LOCAL_DIR: localDir.path, ...env });
  commands.push(trace(`what \`${args.slice(0, 2).join(' ')}\` prints on standard error`, result.stderr));
  if (!/create|rotate-secret/.test(args[1] ?? '')) {
    commands.push(trace(`what \`${args.slice(0, 2).join(' ')}\` prints`, result.stdout));
  }
  return result;
}

async function register(token: string, path: string, secret: string): Promise<string> {
  const { text } = await call('POST', '/webhook-endpoints', {
    token,
    json: {
      url: receiver.url + path,
      secret,
      headers: [{ name: 'X-Api-Key', value: ENDPOINT_SECRETS['the value of a header'] }],
    },
    headers: { 'Idempotency-Key': path },
  });
  return JSON.parse(text).webhookId;
}

/** Makes a healthy, a failing, a gone and a deleted endpoint, and makes every request about them. */
async function playClient(token: string): Promise<void> {
  await register(token, '/healthy', ENDPOINT_SECRETS['the secret of a healthy endpoint']);
  const failing = await register(token, '/failing', ENDPOINT_SECRETS['the secret of a failing endpoint']);
  await register(token, '/gone', ENDPOINT_SECRETS['the secret of a gone endpoint']);
  const deleted = await register(token, '/deleted', ENDPOINT_SECRETS['the secret of a deleted endpoint']);
  const { id } = JSON.parse(
    (await call('POST', '/transfers', { token, json: transferRequest(), headers: { 'Idempotency-Key': 't' } })).text,
  );
  await call('POST', `/sandbox/transfers/${id}/status`, { token, json: { status: 'PROCESSING', reason: 'a test' } });
  const delivery = await waitFor('a delivery that has failed twice', async () => {
    const [first] = JSON.parse((await call('GET', `/webhook-endpoints/${failing}/deliveries`, { token })).text).data;
    return first?.attempt_count >= 2 && first;
  });
  responseStatus = 204;
  await call('POST', `/deliveries/${delivery.id}/retry`, { token });
  await waitFor(
    'the retry',
    async () => JSON.parse((await call('GET', `/deliveries/${delivery.id}`, { token })).text).status === 'succeeded',
  );
  await call('DELETE', `/webhook-endpoints/${deleted}`, { token });
  for (const path of [
    '/webhook-endpoints',
    '/events',
    '/transfers',
    `/transfers/${id}`,
    `/events/${delivery.event_id}/deliveries`,
  ]) {
    await call('GET', path, { token });
  }
}

/** Sends invalid requests that contain a secret. */
async function sendInvalidRequests(
  token: string,
  { client_id, client_secret }: { client_id: string; client_secret: string },
): Promise<void> {
  const secret = ENDPOINT_SECRETS['a secret that was refused'];
  const url = `${receiver.url}/x`;
  const [first] = JSON.parse((await call('GET', '/webhook-endpoints', { token })).text).data;
  const statuses = [
    await call('POST', '/webhook-endpoints', { token, json: { url, secret } }),
    await call('POST', '/webhook-endpoints', { token, json: { url, secret: [secret], description: { secret } } }),
    await call('POST', '/webhook-endpoints', { token, raw: `{"url":"${url}","secret":"${secret}"` }),
    await call('PUT', `/webhook-endpoints/${first.webhookId}`, { token, json: { url, secret } }),
    await call('PATCH', `/webhook-endpoints/${first.webhookId}`, {
      token,
      json: { headers: [{ name: 'x', value: secret }] },
    }),
    await call('GET', `/transfers?access_token=${token}`, {}),
    await call('GET', `/transfers?secret=${encodeURIComponent(secret)}`, { token }),
    await call('GET', '/transfers', { token: `${token}x` }),
    await call('GET', '/transfers', {
      headers: { Authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}` },
    }),
    await call('POST', '/oauth/token', {
      json: { client_id, client_secret: `${client_secret}x`, audience: 'a', grant_type: 'client_credentials' },
    }),
    await call('POST', '/oauth/token', {
      json: { client_id, client_secret, audience: 'https://elsewhere', grant_type: 'client_credentials' },
    }),
    await call('POST', '/oauth/token', { json: { client_id: client_secret, client_secret: [client_secret] } }),
    await call('POST', '/oauth/token', { raw: `client_secret=${client_secret}` }),
  ].map(({ status }) => status);
  expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true);
}

async function playOperator(transferId: string): Promise<void> {
  const { client_id } = service.sandbox;
  const made = JSON.parse((await cli(['clients', 'create', '--name', 'another', '--json'])).stdout);
  await tokenOf('another client', made);
  const rotated = JSON.parse((await cli(['clients', 'rotate-secret', made.client_id, '--json'])).stdout);
  await tokenOf('another client, rotated', { ...made, ...rotated });
  for (const command of [
    'clients list',
    `clients show ${made.client_id}`,
    `endpoints list --client ${client_id}`,
    'keys rotate',
    'keys rotate-master',
    'migrate',
    `transfers set-status ${transferId} SENT`,
    `transfers set-status ${transferId} SENT`,
    `clients revoke ${made.client_id} --yes`,
  ]) {
    await cli([...command.split(' '), '--json']);
  }
  const { database_url: url } = service.sandbox;
  // A database that does not exist, and a password with one wrong letter.
  await cli(['clients', 'list'], { DATABASE_URL: url.replace(/\/transfer_service$/, '/nothing') });
  await cli(['clients', 'list'], { DATABASE_URL: url.replace('@', 'x@') });
  const env = { ENVIRONMENT: 'sandbox', DATABASE_URL: url, TEMPORAL_ADDRESS: 'x:1' };
  await cli(['api'], { ...env, MASTER_KEY: `${secrets['the master key']}AAAA` }, runCli);
}

test('no secret appears in a log, a response, a table, a workflow history, a file or a command line', async () => {
  const { sandbox } = service;
  const privately = JSON.parse(readFileSync(join(localDir.path, 'secrets.json'), 'utf8'));
  secrets['the master key'] = privately.master_key;
  secrets['the database password'] = privately.postgres_password;
  const token = await tokenOf('the sandbox client', sandbox);
  await tokenOf('the operator', sandbox.operator);

  await playClient(token);
  await sendInvalidRequests(token, sandbox);
  const [{ id }] = (await must((await caller(sandbox, sandbox))('GET', '/transfers'))).data;
  await playOperator(id);

  const log = trace("the service's standard error", service.said.join('\n'));
  const traces = [
    ...responses,
    ...commands,
    log,
    ...(await dumpOfEveryTable(sandbox.database_url)),
    ...(await histories(temporal)),
    ...commandLines(),
    ...filesBelow(localDir.path, ['secrets.json', 'sandbox-client.json']),
  ];
  // The search finds texts that must be there, so it covers these traces.
  expect(
    findLeaks({ deliverEvent: 'deliverEvent', 'a debug line': '"level":20', 'a client': sandbox.client_id }, traces),
  ).toEqual(
    expect.arrayContaining([
      "a debug line in the service's standard error",
      'a client in table webhook_endpoints',
      'a client in the history of deliverEvent',
    ]),
  );
  expect(receiver.requests.length).toBeGreaterThanOrEqual(5);
  expect(Object.keys(secrets).length).toBeGreaterThanOrEqual(19);
  expect(findLeaks(secrets, traces)).toEqual([]);
}, 240_000);
