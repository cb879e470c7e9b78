import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { type Environment, readEnvironment, temporalAt } from '../../src/platform/config/config.js';
import { connectionOptions, probeClient, whyUnreachable } from '../../src/temporal/connection.js';
import { makeAuthorities } from '../support/certificates.js';
import { runCommand } from '../support/command.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startRawReceiver } from '../support/raw-receiver.js';

// A proxy in front of the dev server that speaks TLS, as Temporal's frontend does: it wants a client certificate of
// its CA.

const NAME = 'temporal.internal';
const authorities = makeAuthorities();
const ca = authorities.make('ca');
const foreign = authorities.make('foreign');
const server = ca.sign('server', NAME);
const client = ca.sign('client');

let proxy: Server;
let db: TestDatabase;
/** host:port of the proxy, and of the dev server behind it. */
let address: string;
const plain = process.env.TEST_TEMPORAL_ADDRESS as string;
const namespace = `tls-${randomBytes(6).toString('hex')}`;

const TLS = {
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca.certificate,
  TEMPORAL_TLS_SERVER_NAME: NAME,
  TEMPORAL_TLS_CLIENT_CERT_PATH: client.certificate,
  TEMPORAL_TLS_CLIENT_KEY_PATH: client.key,
};
const environmentWith = (env: Record<string, string>): Environment =>
  readEnvironment({ TEMPORAL_NAMESPACE: namespace, ...env });
const temporalWith = (env: Record<string, string>, at = address) => temporalAt(at, environmentWith(env));

beforeAll(async () => {
  const [host = '', port] = plain.split(':');
  const open = new Set<Socket>();
  proxy = createServer(
    {
      ...{ cert: authorities.read(server.certificate), key: authorities.read(server.key) },
      ...{ ca: authorities.read(ca.certificate), requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] },
    },
    (socket) => {
      const behind = connect(Number(port), host);
      for (const one of [socket, behind]) {
        open.add(one);
        one.on('error', () => undefined);
      }
      socket.pipe(behind).pipe(socket);
    },
  );
  proxy.on('tlsClientError', () => undefined);
  proxy.on('close', () => {
    for (const socket of open) socket.destroy();
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  address = `127.0.0.1:${(proxy.address() as { port: number }).port}`;
  db = await createTestDatabase();
  // The template of test databases is made with no record of its migrations.
  await db.pool.query('drop schema public cascade; create schema public');
});

afterAll(async () => {
  proxy.close();
  proxy.emit('close');
  authorities.remove();
  await db.drop();
});

const cliEnv = (env: Record<string, string>) => ({
  ...{ ENVIRONMENT: 'sandbox', DATABASE_URL: db.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
  ...{ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, ...env },
});

describe('TLS with a client certificate, a private CA and a server name', () => {
  it('serves migrate, doctor, commands that need workflows, and the worker', async () => {
    const migrated = await runCommand(['migrate', '--json'], cliEnv({ ...TLS, TEMPORAL_RETENTION: '7d' }));
    expect(migrated).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(migrated.stdout).temporal).toContain(`namespace ${namespace} made`);

    const kept = { ...TLS, TEMPORAL_RETENTION: '7d' };
    const { stdout } = await runCommand(['doctor', '--json'], cliEnv(kept));
    const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
    expect(checks.filter(({ check }) => /Temporal|namespace|search|workflows/.test(check))).toEqual([
      { check: 'Temporal', ok: true, detail: expect.stringMatching(/, version 1\.\d+/) },
      { check: 'namespace', ok: true, detail: `${namespace}, keeps ended workflows for 7d` },
      { check: 'search attributes', ok: true, detail: 'all registered' },
      { check: 'workflows', ok: true, detail: '0 events/s, 0 workflow starts/s in the last minute' },
    ]);
    expect(await runCommand(['deliveries', 'lost', '--since', '1h'], cliEnv(TLS))).toMatchObject({
      code: 0,
      stderr: '',
    });

    const connection = await NativeConnection.connect(connectionOptions(temporalWith(TLS)));
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    expect(namespaceInfo?.name).toBe(namespace);
    await connection.close();
  });

  it('changes the retention of a namespace that exists; doctor finds one that keeps less', async () => {
    const withRetention = (TEMPORAL_RETENTION: string) => cliEnv({ ...TLS, TEMPORAL_RETENTION });
    await runCommand(['migrate'], withRetention('7d'));
    const { stdout: before } = await runCommand(['doctor'], withRetention('9d'));
    expect(before).toMatch(/^FAULT\tnamespace\t.*keeps ended workflows for 7d, not 9d/m);
    const { stdout } = await runCommand(['migrate'], withRetention('9d'));
    expect(stdout).toContain(`namespace ${namespace} keeps ended workflows for 9d`);
  });
});

describe('a connection that cannot be made', () => {
  const { TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_SERVER_NAME } = TLS;
  const cases: [string, () => Record<string, string>, RegExp][] = [
    [
      'a wrong CA',
      () => ({ ...TLS, TEMPORAL_TLS_SERVER_CA_CERT_PATH: foreign.certificate }),
      /self-signed certificate/,
    ],
    [
      'no client certificate',
      () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_SERVER_NAME }),
      /certificate required/,
    ],
    ['a wrong name', () => ({ ...TLS, TEMPORAL_TLS_SERVER_NAME: 'other.internal' }), /Host: other\.internal/],
    ['plaintext to TLS', () => ({}), /Failed to connect/],
    ['no server', () => ({ TEMPORAL_ADDRESS: '127.0.0.1:1' }), /ECONNREFUSED/],
  ];

  it.each(cases)('%s: says so in one line', async (_what, env, line) => {
    const { TEMPORAL_ADDRESS = address, ...rest } = env();
    const why = await whyUnreachable(temporalWith(rest, TEMPORAL_ADDRESS));
    expect(why).toMatch(line);
    expect(why).toMatch(
      /^Temporal cannot be reached at 127.+; look at TEMPORAL_ADDRESS and the TEMPORAL_TLS settings$/,
    );
  });

  it('is one line of each command', async () => {
    const env = cliEnv({ TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_SERVER_NAME });
    for (const command of [['migrate'], ['deliveries', 'lost', '--since', '1h']]) {
      const { code, stderr } = await runCommand(command, env);
      expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringContaining('certificate required')]]);
    }
    const { stdout } = await runCommand(['doctor'], env);
    expect(stdout).toMatch(/^FAULT\tTemporal\t.*certificate required/m);
  });

  it('is a line about a server that accepts connections and is silent', async () => {
    const silent = await startRawReceiver(() => undefined);
    expect(await whyUnreachable(temporalWith({}, `127.0.0.1:${silent.port}`))).toMatch(/ \(no response\); /);
    await silent.close();
  });
});

it('looks for a Temporal that was away at least every 5 s (gRPC waits up to 2 minutes)', () => {
  const { connection } = probeClient(temporalAt('127.0.0.1:1', readEnvironment({})));
  expect((connection as Connection).options.channelArgs).toMatchObject({ 'grpc.max_reconnect_backoff_ms': 5_000 });
});
