import { readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { problemResponse } from '../../src/http/response.js';
import { settings } from '../../src/platform/config/config.js';
import { Networks } from '../../src/platform/networks.js';
import { Refusal } from '../../src/platform/refusal.js';
import { isSupportedNode } from '../../src/process/cautions.js';
import { type Document, readEnvFile, readYaml } from '../support/manifests.js';

// These tests find drift between docker-compose.yml and the service. `npm run check:deploy` checks the file's syntax.

const [compose] = readYaml('docker-compose.yml');
const ours: [string, Document][] = Object.entries<Document>(compose.services).filter(
  ([, { image }]) => image === 'transfer-service',
);
const apis = ours.filter(([, { command }]) => command[0] === 'api').map(([name]) => name);

describe.each(ours)('%s', (_name, service) => {
  test('gets only the password of its own database role, although .env has every password', () => {
    const passwords = Object.keys(readEnvFile('.env.example')).filter((variable) => variable.endsWith('PASSWORD'));
    expect(passwords.length).toBe(4);
    for (const password of passwords) expect(service.environment[password]).toBe('');
    const migrates = service.command[0] === 'migrate';
    const role = migrates ? 'OWNER' : 'RUNTIME';
    const known = Object.values<string>(service.environment).flatMap((value) => value.match(/\w+_PASSWORD/g) ?? []);
    expect(known).toEqual([`DATABASE_${role}_PASSWORD`]);
    expect(service.environment.MASTER_KEY === '').toBe(migrates);
  });
});

describe('the proxy', () => {
  const caddyfile = readFileSync('deploy/Caddyfile', 'utf8');
  const { environment } = compose.services['api-1'];

  test('forwards to each API by its name, while its /readyz is 200 and whatever its responses are', () => {
    expect(apis.length).toBe(2);
    expect(caddyfile).toContain(`reverse_proxy ${apis.map((api) => `${api}:${environment.PORT}`).join(' ')} {`);
    expect(caddyfile).toMatch(/^\s*health_uri \/readyz$/m);
    expect(caddyfile).toMatch(new RegExp(`^\\s*health_port ${environment.METRICS_PORT}$`, 'm'));
    expect(caddyfile).not.toMatch(/fail_duration|unhealthy_/);
    const { ipv4_address } = compose.services.proxy.networks.inside;
    expect(new Networks(environment.METRICS_ALLOWED_NETWORKS.split(',')).contains(ipv4_address)).toBe(true);
  });

  test('responds with the problem `unavailable` where no API is ready', () => {
    const [, text = ''] = /^\s*respond `(.*)`$/m.exec(caddyfile) ?? [];
    const refusal = new Refusal('unavailable', 'No API is ready. No changes were made. Try again.');
    const where = { baseUrl: 'https://{$PUBLIC_HOST}', path: undefined, requestId: '{http.request.uuid}' };
    const { headers, status } = problemResponse(refusal, where);
    expect(JSON.parse(text)).toEqual(JSON.parse(problemResponse(refusal, where).text));
    expect(caddyfile).toContain(`handle_errors ${status} {`);
    for (const [name, value] of Object.entries(headers)) expect(caddyfile).toContain(`header ${name} ${value}`);
  });
});

test.each(Object.entries<Document>(compose.services))(
  '%s gains no rights, has a memory limit and a bounded log, and a read-only root, unless its image writes to it',
  (name, service) => {
    expect(service).toMatchObject({
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
    });
    expect(service.cap_add).toEqual(name === 'proxy' ? ['NET_BIND_SERVICE'] : undefined);
    expect([service.privileged, service.read_only ?? false]).toEqual([
      undefined,
      !/^(temporalio|grafana)\//.test(service.image),
    ]);
  },
);

test("only the proxy may forward a client's address, and no other container can get its own", () => {
  const { ipv4_address: address } = compose.services.proxy.networks.inside;
  for (const api of apis) expect(compose.services[api].environment.TRUSTED_PROXIES).toBe(`${address}/32`);
  const [{ subnet, ip_range }] = compose.networks.inside.ipam.config;
  expect(new Networks([subnet]).contains(address)).toBe(true);
  expect(new Networks([ip_range]).contains(address)).toBe(false);
  const fixed = Object.values<Document>(compose.services).filter(({ networks }) => networks?.inside?.ipv4_address);
  expect(fixed).toHaveLength(1);
});

test('Postgres has connections for every pool while a deployment replaces the workers', () => {
  const { command } = compose.services.postgres;
  const [, limit] = /max_connections=(\d+)/.exec(command.join(' ')) ?? [];
  const { SQL_MAX_CONNS, SQL_VIS_MAX_CONNS } = compose.services.temporal.environment;
  const temporal = 4 * (Number(SQL_MAX_CONNS) + Number(SQL_VIS_MAX_CONNS));
  const pool = Number(settings.DATABASE_POOL_SIZE.byDefault);
  const service = apis.length * pool + 2 * compose.services.worker.deploy.replicas * (pool + 2);
  const others = 20 + 3;
  expect(temporal + service + others).toBeLessThanOrEqual(Number(limit));
});

test.each(['master-key', 'webhook-secret', 'credentials.json', 'temporal.dump', '.env', '.env.production'])(
  'the image does not get %s, which the documents tell one to create',
  (name) => {
    const patterns = readFileSync('.dockerignore', 'utf8')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    expect(patterns.some((pattern) => matchesGlob(name, pattern))).toBe(true);
  },
);

test('the image, .nvmrc and npm scripts run on the same release line of Node.js, which package.json supports', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [, image] =
    /^ARG NODE_IMAGE=node:([\d.]+)-bookworm-slim(?:@sha256:[0-9a-f]{64})?$/m.exec(readFileSync('Dockerfile', 'utf8')) ??
    [];
  expect(image).toBe(devDependencies.node);
  expect(readFileSync('Dockerfile', 'utf8').match(/^FROM (?!\$\{NODE_IMAGE\})/m)).toBeNull();
  expect(readFileSync('.nvmrc', 'utf8').trim()).toBe(devDependencies.node.split('.')[0]);
  expect(isSupportedNode(devDependencies.node)).toBe(true);
});

test('the UI is read-only, and services without a login are reachable from this machine only', () => {
  expect(compose.services['temporal-ui'].environment.TEMPORAL_DISABLE_WRITE_ACTIONS).toBe('true');
  const open = Object.entries<Document>(compose.services).filter(([, { ports = [] }]) =>
    ports.some((port: string) => !port.startsWith('127.0.0.1:')),
  );
  expect(open.map(([name]) => name)).toEqual(['proxy']);
});
