import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { verify } from '../../clients/typescript/src/verify.js';
import { type Document, readYaml } from '../support/manifests.js';
import { waitFor } from '../support/wait-for.js';

// The real Dockerfile, docker-compose.yml and Caddyfile in containers of an engine with a network of its own.
const [engineScript, environmentScript]: string[] = [
  '../../scripts/containers/engine.mjs',
  '../../scripts/containers/environment.mjs',
];
const impossible: string | undefined = (await import(engineScript as string)).installEngine();
if (impossible) console.log(`containers are not tested, for there can be no engine here: ${impossible}`);
const { buildImages, HOST, makeEnvironment, NETWORK } = await import(environmentScript as string);

// Images that are built for the first time take long, Temporal's server above all.
jest.setTimeout(3_000_000);
const SECRET = 'whsec_0123456789abcdef';
const PORT = 8001;

(impossible ? describe.skip : describe)('docker-compose.yml in containers', () => {
  let environment: Document;
  let token: string;
  let id: string;
  const call = (request: object): Promise<Document> => environment.client.call('call', request);
  const apiOf = (path: string, body?: object) => call({ method: body ? 'POST' : 'GET', path, token, body });
  const ends = Object.entries<Document>(readYaml('docker-compose.yml')[0].services)
    .filter(([, { restart }]) => restart === 'on-failure')
    .map(([service]) => service);
  const isSound = async () => {
    const states: string[] = environment.compose('ps', '--all', '--format', '{{.Service}}: {{.Status}}').split('\n');
    return states.every((state) => {
      const [service = ''] = state.split(':');
      const sound = ends.includes(service) ? /: Exited \(0\) / : /: Up /;
      return sound.test(state) && !/unhealthy|starting/.test(state);
    });
  };

  beforeAll(async () => {
    await buildImages((line: string) => process.stderr.write(`${line}\n`));
    environment = await makeEnvironment({ ALLOW_PRIVATE_RECEIVERS: 'true' });
    environment.compose('up', '--build', '--detach');
  });
  afterAll(() => environment?.stop());

  test('every container is healthy or has done its work, and doctor finds no fault', async () => {
    await waitFor('every container is sound', isSound);
    const { ok, checks } = environment.cli('doctor');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
    expect(ok).toBe(true);
  });

  test('a first delivery arrives over HTTPS from another network, in which the client has an address of its own', async () => {
    const root = '/data/caddy/pki/authorities/local/root.crt';
    await environment.client.call('trust', environment.compose('exec', '--no-TTY', 'proxy', 'cat', root));
    await environment.client.call('listen', PORT);
    const { client_id, client_secret } = environment.cli('clients', 'create', '--name', 'Acme');
    id = client_id;
    environment.cli('clients', 'allow', id, `${NETWORK.client}/32`);
    const credentials = { grant_type: 'client_credentials', client_id, client_secret, audience: `https://${HOST}` };
    const granted = await call({ method: 'POST', path: '/oauth/token', body: credentials });
    expect(granted.status).toBe(200);
    token = granted.body.access_token;
    const url = `http://${NETWORK.client}:${PORT}/`;
    expect((await apiOf('/webhook-endpoints', { url, secret: SECRET })).status).toBe(201);
    const transfer = await apiOf('/transfers', {
      amount: { value: 1250, currency: 'EUR' },
      destination: { name: 'Ada Example', account: 'DE89370400440532013000' },
    });
    expect((await apiOf(`/sandbox/transfers/${transfer.body.id}/status`, { status: 'PROCESSING' })).status).toBe(200);
    const delivery = () => environment.client.call('received', PORT, transfer.body.id);
    await waitFor('the delivery', delivery);
    const { signature, text } = await delivery();
    verify({ header: signature, body: Buffer.from(text), secret: SECRET });
    expect(JSON.parse(text).data).toEqual({ id: transfer.body.id, status: 'PROCESSING' });
  });

  test('a client outside its networks is rejected, by the address that it has there', async () => {
    environment.cli('clients', 'allow', id, '192.0.2.0/24');
    await waitFor('the new networks', async () => (await apiOf('/transfers')).status === 403);
    environment.cli('clients', 'allow', id, `${NETWORK.client}/32`);
    await waitFor('the old networks', async () => (await apiOf('/transfers')).status === 200);
  });

  test('a command starts no other container', () => {
    const running = () => environment.engine.docker('ps', '--all', '--quiet', '--no-trunc').split('\n').sort();
    const before = running();
    environment.cli('clients', 'list');
    expect(running()).toEqual(before);
  });

  test.each(['api-1', 'api-2', 'worker'])('%s runs as user 1000 on a read-only root', (service) => {
    for (const container of environment.containersOf(service)) {
      const { docker } = environment.engine;
      expect(docker('exec', container, 'id', '-u')).toBe('1000');
      expect(() => docker('exec', container, 'touch', '/app/x')).toThrow('Read-only file system');
    }
  });

  test("errors of one client's requests take out no API", async () => {
    const head = `POST /transfers HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked`;
    const malformed = `${head}\r\nContent-Type: application/json\r\n\r\nnot a chunk\r\n`;
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => environment.client.call('send', malformed) as Promise<string>),
    );
    expect(responses.filter((response) => !/^HTTP\/1\.1 (4\d\d|502) /.test(response))).toEqual([]);
    expect((await apiOf('/transfers')).status).toBe(200);
  });

  test('an upgrade as deployment.md says loses nothing, and fails no request', async () => {
    const guide = readFileSync('docs/operations/deployment.md', 'utf8');
    const [, commands = ''] = /```sh\n(docker compose build\n[\s\S]*?)```/.exec(guide) ?? [];
    const image = () => environment.inspect(environment.containersOf('api-1')[0], '{{.Image}}');
    const before = image();
    writeFileSync(join(environment.folder, 'src/upgraded.ts'), 'export {};\n');
    await environment.client.call('startLoad', { name: 'upgrade', token, port: PORT, rate: 10 });
    const { folder: cwd, engine } = environment;
    execFileSync('bash', ['-euo', 'pipefail', '-c', commands], {
      cwd,
      env: engine.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const { failures, missing, acknowledged } = await environment.client.call('stopLoad', 'upgrade', 60_000);
    expect({ failures, missing }).toEqual({ failures: [], missing: [] });
    expect(acknowledged).toBeGreaterThan(100);
    expect(image()).not.toBe(before);
  });

  test('after a restart of the engine, everything works again by itself', async () => {
    await environment.engine.restart();
    await waitFor('every container is sound', isSound);
    await environment.client.call('startLoad', { name: 'restarted', token, port: PORT, rate: 10 });
    await waitFor('20 changes', async () => (await environment.client.call('acknowledged', 'restarted')) > 20);
    const { failures, missing } = await environment.client.call('stopLoad', 'restarted', 60_000);
    expect({ failures, missing }).toEqual({ failures: [], missing: [] });
  });

  test('everything stops by itself within its grace period', () => {
    const services = ['api-1', 'api-2', 'worker', 'proxy', 'postgres'];
    const containers = services.flatMap((service) => environment.containersOf(service));
    environment.compose('stop');
    const codes = containers.map((container) => environment.inspect(container, '{{.Name}} {{.State.ExitCode}}'));
    expect(codes.filter((code) => !code.endsWith(' 0'))).toEqual([]);
  });
});
