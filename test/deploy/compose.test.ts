import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { settings } from '../../src/config.js';
import { isSupportedNode } from '../../src/process/runtime.js';
import { type Document, isHealthPath, readCommands, readEnvFile, readYaml } from '../support/manifests.js';

// These tests find drift between docker-compose.yml and the service. `npm run check:deploy` checks the file's syntax.

const [compose] = readYaml('docker-compose.yml');
const ours: [string, Document][] = Object.entries<Document>(compose.services).filter(([, { build }]) => build === '.');

test('has all roles of the service, with two replicas of API and worker', () => {
  expect(ours.map(([name, { deploy }]) => [name, deploy?.replicas])).toEqual([
    ['migrate', undefined],
    ['api', 2],
    ['worker', 2],
  ]);
});

describe.each(ours)('%s', (_, service) => {
  test('runs an existing command with existing settings', async () => {
    expect(await readCommands()).toContain(service.command[0]);
    expect([...Object.keys(settings), 'SUDO_USER']).toEqual(expect.arrayContaining(Object.keys(service.environment)));
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
  expect(caddyfile).toContain(`dynamic a api ${compose.services.api.environment.PORT} {`);
  const [, keepAlive] = /^\s*keepalive (\d+)s$/m.exec(caddyfile) ?? [];
  expect(Number(keepAlive)).toBeLessThan(Number.parseInt(settings.SHUTDOWN_DELAY.byDefault, 10));
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
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [, entrypoint = '[]'] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entrypoint)).toEqual(['tini', '--', 'node', bin['transfer-service']]);
  const [, command = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? [];
  expect(await readCommands()).toContain(JSON.parse(command)[0]);
  expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  expect(dockerfile).toContain(`EXPOSE ${settings.PORT.byDefault}\n`);
});

test('the image, .nvmrc and npm scripts run on the same release line of Node.js, which package.json supports', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const [, image] = /^ARG NODE_IMAGE=node:([\d.]+)-bookworm-slim$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  expect(image).toBe(devDependencies.node);
  expect(readFileSync('Dockerfile', 'utf8').match(/^FROM (?!\$\{NODE_IMAGE\})/m)).toBeNull();
  expect(readFileSync('.nvmrc', 'utf8').trim()).toBe(devDependencies.node.split('.')[0]);
  expect(isSupportedNode(devDependencies.node)).toBe(true);
});
