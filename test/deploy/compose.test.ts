import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { settings } from '../../src/platform/config/config.js';
import { Networks } from '../../src/platform/networks.js';
import { isSupportedNode } from '../../src/process/cautions.js';
import { type Document, isHealthPath, readCommands, readEnvFile, readYaml } from '../support/manifests.js';

// These tests find drift between docker-compose.yml and the service. `npm run check:deploy` checks the file's syntax.

const [compose] = readYaml('docker-compose.yml');
const ours: [string, Document][] = Object.entries<Document>(compose.services).filter(([, { build }]) => build === '.');

describe.each(ours)('%s', (name, service) => {
  test('runs an existing command with existing settings', async () => {
    expect(await readCommands()).toContain(service.command[0]);
    const given = Object.entries(service.environment).filter(([, value]) => value !== '');
    expect([...Object.keys(settings), 'SUDO_USER']).toEqual(expect.arrayContaining(given.map(([name]) => name)));
  });

  test('gets only the password of its own database role, although .env has every password', () => {
    const passwords = Object.keys(readEnvFile('.env.example')).filter((variable) => variable.endsWith('PASSWORD'));
    expect(passwords.length).toBe(4);
    for (const password of passwords) expect(service.environment[password]).toBe('');
    const role = name === 'migrate' ? 'OWNER' : 'RUNTIME';
    const known = Object.values<string>(service.environment).flatMap((value) => value.match(/\w+_PASSWORD/g) ?? []);
    expect(known).toEqual([`DATABASE_${role}_PASSWORD`]);
    expect(service.environment.MASTER_KEY === '').toBe(name === 'migrate');
  });
});

test.each([
  ['api', 'PORT', 5 + 10 + 5],
  ['worker', 'METRICS_PORT', 40],
])('the health check of %s uses its port (%s), and it has %d s to end', (name, port, seconds) => {
  const { healthcheck, environment, stop_grace_period } = compose.services[name];
  const [, asked, path = ''] = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/.exec(healthcheck.test.join(' ')) ?? [];
  expect(asked).toBe(environment[port]);
  expect(isHealthPath(path)).toBe(true);
  expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThanOrEqual(seconds);
});

test('the proxy forwards to the port of the API, and closes idle connections before the API does', () => {
  const caddyfile = readFileSync('deploy/Caddyfile', 'utf8');
  const [, port] = /^\s*dynamic a api (\d+)\b/m.exec(caddyfile) ?? [];
  expect(port).toBe(compose.services.api.environment.PORT);
  const [, keepAlive] = /^\s*keepalive (\d+)s$/m.exec(caddyfile) ?? [];
  expect(Number(keepAlive)).toBeLessThan(Number.parseInt(settings.SHUTDOWN_DELAY.byDefault, 10));
});

describe.each(Object.entries<Document>(compose.services))('%s', (name, service) => {
  test('gains no rights, has a memory limit, and keeps a bounded log', () => {
    expect(service).toMatchObject({
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      mem_limit: expect.stringMatching(/^\d+[mg]$/),
      logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
    });
    expect(service.cap_add).toEqual(name === 'proxy' ? ['NET_BIND_SERVICE'] : undefined);
    expect(service.privileged).toBeUndefined();
  });

  test('has a read-only root, unless its image writes to it', () => {
    const writing = name.startsWith('temporal') || name === 'grafana';
    expect(service.read_only ?? false).toBe(!writing);
  });
});

test("only the proxy may forward a client's address, and no other container can get its own", () => {
  const { ipv4_address: address } = compose.services.proxy.networks.inside;
  expect(compose.services.api.environment.TRUSTED_PROXIES).toBe(`${address}/32`);
  const [{ subnet, ip_range }] = compose.networks.inside.ipam.config;
  expect(new Networks([subnet]).contains(address)).toBe(true);
  expect(new Networks([ip_range]).contains(address)).toBe(false);
  const fixed = Object.values<Document>(compose.services).filter(({ networks }) => networks?.inside?.ipv4_address);
  expect(fixed).toHaveLength(1);
});

test('Postgres has connections for every pool while a deployment replaces both containers of each role', () => {
  const { command } = compose.services.postgres;
  const [, limit] = /max_connections=(\d+)/.exec(command.join(' ')) ?? [];
  const { SQL_MAX_CONNS, SQL_VIS_MAX_CONNS } = compose.services.temporal.environment;
  const temporal = 4 * (Number(SQL_MAX_CONNS) + Number(SQL_VIS_MAX_CONNS));
  const pool = Number(settings.DATABASE_POOL_SIZE.byDefault);
  const { api, worker } = compose.services;
  const service = 2 * (api.deploy.replicas * pool + worker.deploy.replicas * (pool + 2));
  const others = 20 + 3;
  expect(temporal + service + others).toBeLessThanOrEqual(Number(limit));
});

test('mounts only files of the repository', () => {
  const volumes: string[] = Object.values<Document>(compose.services).flatMap(({ volumes = [] }) => volumes);
  const mounted = volumes.map((volume) => volume.split(':')[0] as string).filter((path) => path.startsWith('./'));
  expect(mounted.length).toBeGreaterThan(2);
  expect(mounted.filter((path) => !existsSync(path))).toEqual([]);
});

test('.env.example has every variable that .env requires', () => {
  const text = readFileSync('docker-compose.yml', 'utf8');
  const asked = [...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name = '']) => name);
  expect(asked.length).toBeGreaterThan(3);
  expect(Object.keys(readEnvFile('.env.example'))).toEqual(expect.arrayContaining(asked));
});

test('the image runs the command line as an unprivileged user, and exposes its port', async () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');
  const [, entrypoint = '[]'] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entrypoint)).toEqual(['tini', '--', 'node', 'dist/src/cli.js']);
  const [, command = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? [];
  expect(await readCommands()).toContain(JSON.parse(command)[0]);
  const [, user] = /^USER (\d+)/m.exec(dockerfile) ?? [];
  expect(Number(user)).toBeGreaterThan(0);
  const [, port] = /^EXPOSE (\d+)$/m.exec(dockerfile) ?? [];
  expect(port).toBe(settings.PORT.byDefault);
});

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
