import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { createAddressGuard } from '../../src/delivery/sender/address-guard.js';
import { loadConfig, SECRETS, settings } from '../../src/platform/config/config.js';
import { Networks } from '../../src/platform/networks.js';
import {
  type Document,
  isHealthPath,
  KUBERNETES,
  readCommands,
  readEnvFile,
  readYaml,
  yamlFiles,
} from '../support/manifests.js';

// These tests find drift between the manifests and the service. `npm run check:deploy` validates the manifests.

const [kustomization] = readYaml(`${KUBERNETES}/kustomization.yaml`);
const env = readEnvFile(`${KUBERNETES}/settings.env`);
const [secret, migrateSecret] = readYaml(`${KUBERNETES}/examples/secret.yaml`);
const documents: Document[] = kustomization.resources.flatMap((name: string) => readYaml(`${KUBERNETES}/${name}`));
const find = (kind: string, name: string): Document =>
  documents.find((document) => document.kind === kind && document.metadata.name === `transfer-service${name}`);
const config = loadConfig({
  ...env,
  DATABASE_URL: 'postgresql://somebody@postgres/database',
  MASTER_KEY: randomBytes(32).toString('base64'),
});

test('includes every manifest, and no manifest names a namespace', () => {
  expect(yamlFiles(KUBERNETES).sort()).toEqual([...kustomization.resources, 'kustomization.yaml'].sort());
  expect(documents.filter(({ metadata }) => metadata.namespace !== undefined)).toEqual([]);
});

test('has valid settings with which production starts, and secrets without values', () => {
  expect(Object.keys(settings)).toEqual(expect.arrayContaining(Object.keys(env)));
  expect(config).toMatchObject({ environment: 'production', metrics: { port: 9464 } });
  expect(Object.keys(secret.stringData)).toEqual(expect.arrayContaining(Object.keys(migrateSecret.stringData)));
  for (const { stringData } of [secret, migrateSecret]) {
    expect(SECRETS).toEqual(expect.arrayContaining(Object.keys(stringData)));
    expect(new Set(Object.values(stringData))).toEqual(new Set(['']));
  }
});

describe.each([
  ['Deployment', '-api'],
  ['Deployment', '-worker'],
  ['Job', '-migrate'],
])('%s transfer-service%s', (kind, name) => {
  const { template } = find(kind, name).spec;
  const [container] = template.spec.containers;

  test('runs an existing command of the configured image, as a user without rights on a read-only root', async () => {
    expect(await readCommands()).toContain(container.args[0]);
    expect(container.image).toBe(kustomization.images[0].name);
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources.limits.memory).toBeDefined();
  });

  test("has the settings and one secret: only the migrations get the owner's credentials, and no master key", () => {
    const { metadata, stringData } = kind === 'Job' ? migrateSecret : secret;
    expect(container.envFrom).toEqual([
      { configMapRef: { name: kustomization.configMapGenerator[0].name } },
      { secretRef: { name: metadata.name } },
    ]);
    expect(Object.hasOwn(stringData, 'MASTER_KEY')).toBe(kind === 'Deployment');
  });

  test.each(['startupProbe', 'readinessProbe', 'livenessProbe'])('%s requests an existing health route', (probe) => {
    if (kind === 'Job') return expect(container[probe]).toBeUndefined();
    const { path, port } = container[probe].httpGet;
    expect(isHealthPath(path)).toBe(true);
    const { containerPort } = container.ports.find((one: Document) => one.name === port);
    expect(containerPort).toBe(config.metrics?.port);
  });
});

describe.each(['-api', '-worker'])('the role %s', (name) => {
  const deployment = find('Deployment', name);
  const { template } = deployment.spec;

  test('is out of service by /readyz alone, which tolerates a short outage of Postgres, and restarts by /healthz', () => {
    const [{ readinessProbe, livenessProbe, startupProbe }] = template.spec.containers;
    expect(readinessProbe.httpGet.path).toBe('/readyz');
    for (const probe of [livenessProbe, startupProbe]) expect(probe.httpGet.path).toBe('/healthz');
    // The reading of /readyz takes at most 2 s (src/process/readiness.ts).
    expect(readinessProbe.timeoutSeconds).toBeGreaterThan(2);
    const unreadyAfter = readinessProbe.periodSeconds * readinessProbe.failureThreshold;
    expect(unreadyAfter * 1_000).toBeLessThanOrEqual(config.shutdownDelay);
  });
});

test('the Service forwards to the port that the API listens on', () => {
  const service = find('Service', '-api').spec;
  const { labels } = find('Deployment', '-api').spec.template.metadata;
  expect(labels).toMatchObject(service.selector);
  const { ports } = find('Deployment', '-api').spec.template.spec.containers[0];
  expect(ports).toContainEqual({ name: service.ports[0].targetPort, containerPort: config.port });
});

test('each role has enough time to shut down', () => {
  const seconds = (name: string) => find('Deployment', name).spec.template.spec.terminationGracePeriodSeconds;
  expect(seconds('-api')).toBeGreaterThanOrEqual(config.shutdownDelay / 1_000 + 10 + 5);
  expect(seconds('-worker')).toBeGreaterThanOrEqual(40);
});

describe("the workers' network policy", () => {
  const [{ to }] = find('NetworkPolicy', '-worker').spec.egress;
  const blocks: { open: Networks; closed: Networks; except: string[] }[] = to.map(({ ipBlock }: Document) => ({
    open: new Networks([ipBlock.cidr]),
    closed: new Networks(ipBlock.except),
    except: ipBlock.except,
  }));
  const opens = (address: string) =>
    blocks.some(({ open, closed }) => open.contains(address) && !closed.contains(address));
  const guard = createAddressGuard({ allowPrivate: false, blocked: [] });
  /** A network's first and last address, and their neighbours outside of it. */
  const edges = (cidr: string): string[] => {
    const [address, bits] = ipaddr.parseCIDR(cidr);
    const bytes = address.toByteArray();
    const size = BigInt(bytes.length * 8 - bits);
    const first = (BigInt(`0x${Buffer.from(bytes).toString('hex')}`) >> size) << size;
    return [first - 1n, first, first + (1n << size) - 1n, first + (1n << size)]
      .filter((value) => value >= 0n && value < 1n << BigInt(bytes.length * 8))
      .map((value) => value.toString(16).padStart(bytes.length * 2, '0'))
      .map((hex) => ipaddr.fromByteArray([...Buffer.from(hex, 'hex')]).toString());
  };

  test('opens what the address guard allows, at the edges of every network', () => {
    const networks = [...blocks.flatMap(({ except }) => except), '2000::/3'];
    const differing = networks.flatMap(edges).filter((address) => opens(address) === guard.blocks(address));
    expect(differing).toEqual([]);
  });

  test('opens what the address guard allows, at any address', () => {
    const hosts = fc.oneof(
      fc.ipV4(),
      fc.ipV6().filter((text) => !text.includes('.') && !text.startsWith('::ffff')),
      fc
        .tuple(fc.integer({ min: 0x2000, max: 0x3fff }), fc.integer({ min: 0, max: 0xffff }))
        .map(([first, second]) => `${first.toString(16)}:${second.toString(16)}::1`),
    );
    fc.assert(
      fc.property(hosts, (address) => opens(address) !== guard.blocks(address)),
      { numRuns: 2_000 },
    );
  });
});

test('every pod reaches name servers, Postgres and Temporal, and no other port', () => {
  const ports = find('NetworkPolicy', '').spec.egress.flatMap((rule: Document) => rule.ports);
  const temporal = Number(config.temporal.address.split(':').at(-1));
  expect(ports.map(({ port }: Document) => port)).toEqual([53, 53, 5432, temporal]);
});
