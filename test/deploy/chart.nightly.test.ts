import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ipaddr from 'ipaddr.js';
import { parseAllDocuments } from 'yaml';
import { createAddressGuard } from '../../src/delivery/sender/address-guard.js';
import { settings as known, loadConfig, SECRETS } from '../../src/platform/config/config.js';
import { Networks } from '../../src/platform/networks.js';
import { type Document, readCommands, readYaml } from '../support/manifests.js';

const CHART = 'deploy/chart';
const [values] = readYaml(`${CHART}/values.yaml`);
const [{ appVersion, version }] = readYaml(`${CHART}/Chart.yaml`);
const [secret, migrateSecret] = readYaml('deploy/examples/secret.yaml');
const helm = [join(process.env.CACHE_DIR || known.CACHE_DIR.byDefault, 'check-deploy/helm'), 'helm'].find(
  (program) => spawnSync(program, ['version']).status === 0,
);
const config = loadConfig({
  ...values.settings,
  DATABASE_URL: 'postgresql://somebody@postgres/database',
  MASTER_KEY: randomBytes(32).toString('base64'),
});

test('the chart has the version of the package, settings with which production starts, and secrets without values', () => {
  const { version: released } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect([version, appVersion]).toEqual([released, released]);
  expect(config).toMatchObject({ environment: 'production', metrics: { port: 9464 } });
  for (const { stringData } of [secret, migrateSecret]) {
    expect(SECRETS).toEqual(expect.arrayContaining(Object.keys(stringData)));
    expect(new Set(Object.values(stringData))).toEqual(new Set(['']));
  }
  expect(Object.keys(secret.stringData)).toContain('MASTER_KEY');
  expect(Object.keys(migrateSecret.stringData)).not.toContain('MASTER_KEY');
});

test('the schema of the values has every setting that is not a secret', () => {
  const schema = JSON.parse(readFileSync(`${CHART}/values.schema.json`, 'utf8'));
  const [, { enum: names }] = schema.properties.settings.propertyNames.anyOf;
  expect(names).toEqual(
    Object.keys(known)
      .filter((name) => !SECRETS.includes(name))
      .sort(),
  );
});

/** The documents of the chart's output by `Kind/name`. */
const render = (...args: string[]) => renderAs('transfer-service', ...args);

function renderAs(release: string, ...args: string[]): Record<string, Document> {
  const command = ['template', release, CHART, '--kube-version=1.36', ...args];
  const text = execFileSync(helm as string, command, { encoding: 'utf8' });
  const documents: Document[] = parseAllDocuments(text).map((document) => document.toJS());
  return Object.fromEntries(documents.filter(Boolean).map((one) => [`${one.kind}/${one.metadata.name}`, one]));
}

const PODS = ['Deployment/transfer-service-api', 'Deployment/transfer-service-worker', 'Job/transfer-service-migrate'];

const withHelm = helm ? describe : describe.skip;
withHelm('Helm', () => {
  test('each pod runs an existing command with its own secret, without rights and on a read-only root', async () => {
    const rendered = render();
    for (const name of PODS) {
      const { spec } = rendered[name].spec.template;
      const [container] = spec.containers;
      expect(await readCommands()).toContain(container.args[0]);
      expect(spec).toMatchObject({
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
    }
    expect(rendered['ConfigMap/transfer-service'].data).toEqual(values.settings);
  });

  test('two releases in one namespace share no name, and select only their own pods', () => {
    const own = Object.values(renderAs('pay'));
    expect(own.filter(({ metadata }) => !metadata.name.startsWith('pay-transfer-service'))).toEqual([]);
    const selectors = own.flatMap(({ spec = {} }) => [spec.selector?.matchLabels ?? [], spec.podSelector ?? []].flat());
    expect(JSON.stringify(selectors)).not.toContain('"transfer-service-');
    const { selector } = own.find(({ kind }) => kind === 'Service')?.spec ?? {};
    expect(selector).toMatchObject({ 'app.kubernetes.io/instance': 'pay' });
    for (const { metadata } of own) {
      expect(metadata.labels).toMatchObject({
        'app.kubernetes.io/instance': 'pay',
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/version': appVersion,
      });
    }
  });

  test('a changed setting rolls the pods, and a digest takes precedence over a tag', () => {
    const api = (...args: string[]) => render(...args)['Deployment/transfer-service-api'].spec.template;
    const hashOf = (...args: string[]) => api(...args).metadata.annotations['checksum/settings'];
    expect(hashOf()).toBe(hashOf());
    expect(hashOf('--set=settings.RATE_LIMIT=5')).not.toBe(hashOf());
    expect(api().spec.containers[0].image).toBe(`${values.image.repository}:${appVersion}`);
    const pinned = api('--set=image.digest=sha256:abc').spec.containers[0].image;
    expect(pinned).toBe(`${values.image.repository}@sha256:abc`);
  });

  test.each([
    ['a misspelt setting', '--set=settings.RATE_LIMITS=5'],
    ['a secret among the settings', '--set=settings.MASTER_KEY=x'],
    ['an empty list, which would admit everybody', '--set-json=network.ingress=[]'],
  ])('%s is rejected', (_, value) => {
    const command = ['template', 'transfer-service', CHART, '--kube-version=1.36', value];
    const { status, stderr } = spawnSync(helm as string, command, { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain("don't meet the specifications of the schema");
  });

  test('workers cannot connect to BLOCKED_RECEIVERS', () => {
    const policy = render('--set=settings.BLOCKED_RECEIVERS=198.41.0.0/24\\,2606:4700::/32\\,fd12::/16');
    const [rule] = policy['NetworkPolicy/transfer-service-worker'].spec.egress;
    const [ipv4, ipv6] = rule.to.map(({ ipBlock }: Document) => ipBlock.except);
    expect(ipv4).toContain('198.41.0.0/24');
    // fd12::/16 is outside of 2000::/3, and Kubernetes rejects an exception that is not inside its block.
    expect(ipv6.slice(-1)).toEqual(['2606:4700::/32']);
  });

  test('a worker reaches what the address guard allows, at the edges of every network', () => {
    const [{ to }] = render()['NetworkPolicy/transfer-service-worker'].spec.egress;
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

    const networks = [...blocks.flatMap(({ except }) => except), '2000::/3'];
    const differing = networks.flatMap(edges).filter((address) => opens(address) === guard.blocks(address));
    expect(differing).toEqual([]);
  });
});
