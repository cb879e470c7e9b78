import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Arrival, startReceiver } from '../../clients/typescript/src/cli/receiver.js';
import { TransferServiceClient } from '../../clients/typescript/src/client.js';
import { isRunning } from '../../src/local/child.js';
import { readState } from '../../src/local/stack-state.js';
import { findTemporal } from '../../src/local/temporal-program.js';
import { readEnvironment } from '../../src/platform/config/config.js';
import { runCli } from '../support/cli.js';
import { makeLocalDir } from '../support/local-dir.js';
import { waitFor } from '../support/wait-for.js';

let local: ReturnType<typeof makeLocalDir>;
let localDir: string;

beforeEach(() => {
  local = makeLocalDir();
  localDir = local.path;
});

afterEach(() => local.remove());

function environment(): Record<string, string | undefined> {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', LOCAL_DIR: localDir };
}

function nothingRuns(): boolean {
  const { postgres, temporal } = readState(localDir) ?? {};
  // A service that ends soon may not have started Temporal.
  return postgres !== undefined && !isRunning(postgres) && !(temporal && isRunning(temporal));
}

test('the demo delivers verified webhooks, shows a sleeping delivery, and with --once stops every process', async () => {
  const demo = spawn(process.execPath, ['dist/src/local/demo.js', '--once'], { env: environment() });
  const [stdout, stderr] = await Promise.all([text(demo.stdout), text(demo.stderr), once(demo, 'close')]);
  expect({ code: demo.exitCode, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('"level"') });
  expect(stdout.match(/signature verified/g)).toHaveLength(3);
  expect(stdout).not.toContain('BAD SIGNATURE');
  expect(stdout).toMatch(/attempt 2 +500 .*\n +attempt 3 +at 20\d\d-.*Z \(5m/);
  expect(stdout).toMatch(/watch it +http:\/\/localhost:\d+\/namespaces\/transfer-service\/workflows\/[0-9a-f-]{36}\n/);
  expect(stdout).toMatch(/10 transfers completed, 0 goods shipped\n +up again +10 goods shipped, each once/);
  expect(stdout.trimEnd()).toMatch(/proof +the signature is verified, and the shop has exactly its \d+ events$/);
  // The service ends with the demo, so a link into its console would be dead.
  expect(stdout).not.toContain('/console/sign-in/');
  expect(nothingRuns()).toBe(true);
}, 400_000);

/** A folder for PATH with a `go` that builds Temporal's server once `finish` is called. No server is on this PATH. */
async function slowGo() {
  const folder = mkdtempSync(join(tmpdir(), 'go-'));
  const finished = join(folder, 'finished');
  const settings = readEnvironment(process.env);
  const temporal = await findTemporal({
    cacheDir: settings.CACHE_DIR,
    path: process.env.PATH,
    signal: undefined,
    progress: () => {},
  });
  const script = `#!/bin/sh
    until [ -e ${finished} ]; do sleep 0.1; done
    cp ${temporal} $GOBIN/temporal`;
  writeFileSync(join(folder, 'go'), script, { mode: 0o755 });
  for (const name of ['sh', 'nice', 'sleep', 'cp']) {
    const found = (process.env.PATH ?? '').split(delimiter).map((path) => join(path, name));
    symlinkSync(found.find((path) => existsSync(path)) ?? '', join(folder, name));
  }
  return {
    // The SDK's download fails at the proxy.
    env: { PATH: folder, CACHE_DIR: join(folder, 'cache'), HTTPS_PROXY: 'http://127.0.0.1:1' },
    finish: () => writeFileSync(finished, ''),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

test('the service delivers before Temporal is built, says that it is being built, and connects when it is up', async () => {
  const go = await slowGo();
  const service = spawn(process.execPath, ['dist/src/cli.js', 'start'], { env: { ...environment(), ...go.env } });
  const printed: string[] = [];
  createInterface({ input: service.stderr }).on('line', (line) => printed.push(line));
  try {
    await once(createInterface({ input: service.stdout }), 'line');
    const sandbox = JSON.parse(readFileSync(join(localDir, 'sandbox-client.json'), 'utf8'));
    const { auth_url: authUrl, base_url: baseUrl, client_id: clientId, client_secret: clientSecret } = sandbox;
    const client = new TransferServiceClient({ authUrl, baseUrl, clientId, clientSecret });
    const temporal = async () => (await (await fetch(`${baseUrl}/readyz`)).json()).checks.temporal;
    expect(await temporal()).toBe('starting');
    const arrived: Arrival[] = [];
    const secret = 'a-secret-of-the-receiver';
    const onArrival = (arrival: Arrival) => arrived.push(arrival);
    const { url, close } = await startReceiver({ port: 0, secret, failFirst: 0, onArrival });
    const { webhookId } = await client.webhookEndpoints.register({ url, secret });
    const { id } = await client.transfers.create({
      amount: { value: 1, currency: 'EUR' },
      destination: { name: 'Ada', account: 'DE02' },
    });
    await client.sandbox.setTransferStatus(id, { status: 'PROCESSING' });
    await waitFor('the verified webhook', () => arrived.some(({ verified }) => verified));
    await expect(client.webhookEndpoints.check(webhookId, { timeoutMs: 2_000 })).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('Checks need Temporal, which is starting'),
    });
    const doctor = () => runCli(['doctor', '--json'], { LOCAL_DIR: localDir });
    await waitFor('the build', () => printed.some((line) => line.startsWith("building Temporal's server with Go")));
    expect(JSON.parse((await doctor()).stdout).checks.at(-1)).toEqual({
      ...{ check: 'Temporal', ok: true, warning: true },
      detail: expect.stringMatching(/^starting: building Temporal's server with Go/),
    });

    go.finish();
    const { temporal_ui_url: ui, temporal_namespace: namespace } = sandbox;
    await waitFor('the address of the UI', () =>
      printed.includes(`Temporal UI   ${ui}/namespaces/${namespace}/workflows`),
    );
    await waitFor('the connection to Temporal', async () => (await temporal()) === 'ok');
    const { code, stdout } = await doctor();
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ ok: true })]);
    await client.webhookEndpoints.check(webhookId);
    await close();
  } finally {
    service.kill('SIGTERM');
    await once(service, 'close');
    go.remove();
  }
  expect(nothingRuns()).toBe(true);
});

test('SIGTERM to npm ends the service that it runs, with every process of the service', async () => {
  const npm = spawn('npm', ['start'], { env: environment(), stdio: ['ignore', 'pipe', 'ignore'] });
  const lines = createInterface({ input: npm.stdout })[Symbol.asyncIterator]();
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error('npm ended before the service was ready');
    if (value.startsWith('ready ')) break;
  }
  npm.kill('SIGTERM');
  await once(npm, 'exit');
  await waitFor('the end of every process', nothingRuns, 30_000);
});

test('the service prints ready, writes credentials only its owner can read, keeps them over a restart, and ends on SIGTERM', async () => {
  const run = async (work: (client: Record<string, string>) => Promise<void>) => {
    const service = spawn(process.execPath, ['dist/src/cli.js', 'start'], { env: environment() });
    const stderr = text(service.stderr);
    const lines = createInterface({ input: service.stdout });
    const printed: string[] = [];
    lines.on('line', (line) => printed.push(line));
    await Promise.race([once(lines, 'line'), stderr.then((output) => Promise.reject(new Error(output)))]);
    const path = join(localDir, 'sandbox-client.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const client = JSON.parse(readFileSync(path, 'utf8'));
    await work(client);
    service.kill('SIGTERM');
    await once(service, 'close');
    expect({ code: service.exitCode, printed }).toEqual({ code: 0, printed: [`ready ${client.base_url}`] });
    const said = await stderr;
    expect(said).not.toContain(client.client_secret);
    // Without the namespace, Temporal's UI opens another one, which is empty.
    expect(said).toContain(`${client.temporal_ui_url}/namespaces/${client.temporal_namespace}/workflows`);
    expect(nothingRuns()).toBe(true);
    return client;
  };

  const first = await run(async (client) => {
    expect(Object.keys(client).sort()).toEqual([
      ...['auth_url', 'base_url', 'client_id', 'client_secret', 'database_url', 'operator'],
      ...['temporal_address', 'temporal_namespace', 'temporal_ui_url'],
    ]);
    expect((await fetch(`${client.base_url}/readyz`)).status).toBe(200);
    const listed = await runCli(['clients', 'list', '--json'], { LOCAL_DIR: localDir });
    expect(JSON.parse(listed.stdout)).toMatchObject([{ client_id: client.client_id }, { scopes: ['operator'] }]);
  });
  const second = await run(async (client) => {
    const { base_url: audience, client_id, client_secret } = client;
    const response = await fetch(`${client.auth_url}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_id, client_secret, audience, grant_type: 'client_credentials' }),
    });
    expect(response.status).toBe(200);
    await runCli(['clients', 'revoke', client.client_id ?? '', '--yes'], { LOCAL_DIR: localDir });
  });
  expect([second.client_id, second.client_secret, second.operator]).toEqual([
    first.client_id,
    first.client_secret,
    first.operator,
  ]);
  const third = await run(async () => {});
  expect(third.client_id).not.toBe(first.client_id);
  expect(third.operator).toEqual(first.operator);
});
