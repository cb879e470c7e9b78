import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { loadConfig, readEnvironment, settings } from '../../../src/platform/config/config.js';
import { unknownSettings } from '../../../src/platform/config/environment.js';
import { linesOf, MASTER_KEY, PASSWORD, SANDBOX } from '../../support/configuration.js';

describe('the configuration', () => {
  it.each(['ENVIRONMENT', 'DATABASE_URL', 'TEMPORAL_ADDRESS', 'MASTER_KEY'])('%s has no default', (name) => {
    for (const value of [undefined, '']) {
      expect(linesOf(() => loadConfig({ ...SANDBOX, [name]: value }))).toEqual([
        expect.stringMatching(`^${name}: is not set`),
      ]);
    }
  });

  it('makes traces where a collector is named and OpenTelemetry is not disabled', () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318';
    const tracing = (env: object) => loadConfig({ ...SANDBOX, OTEL_EXPORTER_OTLP_ENDPOINT, ...env }).tracing;
    expect([{}, { OTEL_SDK_DISABLED: 'false' }, { OTEL_TRACES_EXPORTER: 'otlp' }].map(tracing)).toEqual([
      true,
      true,
      true,
    ]);
    expect([{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }].map(tracing)).toEqual([false, false]);
    expect(loadConfig(SANDBOX).tracing).toBe(false);
  });

  it('tells the operator only with a URL and a secret, in production over https unless private addresses are allowed', () => {
    const [NOTIFY_URL, NOTIFY_SECRET] = ['https://ops.example.com/in', 'a secret of sixteen'];
    expect(loadConfig(SANDBOX).notify).toBeUndefined();
    expect(loadConfig({ ...SANDBOX, NOTIFY_URL, NOTIFY_SECRET }).notify).toMatchObject({ allowPrivate: false });
    expect(linesOf(() => loadConfig({ ...SANDBOX, NOTIFY_URL }))).toEqual([
      'NOTIFY_SECRET: is not set; give both NOTIFY_SECRET and NOTIFY_URL, or neither',
    ]);
    expect(linesOf(() => loadConfig({ ...SANDBOX, NOTIFY_SECRET }))).toEqual([
      'NOTIFY_URL: is not set; give both NOTIFY_URL and NOTIFY_SECRET, or neither',
    ]);
    for (const url of ['ops.example.com', 'https://u:p@ops.example.com/', 'https://ops.example.com/#f', 'ftp://x/'])
      expect(linesOf(() => loadConfig({ ...SANDBOX, NOTIFY_URL: url, NOTIFY_SECRET }))).toHaveLength(1);
    const plain = { ...PRODUCTION, NOTIFY_URL: 'http://10.0.0.1/in', NOTIFY_SECRET };
    expect(linesOf(() => loadConfig(plain))).toEqual([expect.stringMatching('^NOTIFY_URL: is http: in production')]);
    expect(loadConfig({ ...plain, NOTIFY_ALLOW_PRIVATE: 'true' }).notify).toMatchObject({ allowPrivate: true });
  });

  it('contains no secret when it is printed, nor in a validation error', () => {
    const config = inspect(loadConfig(SANDBOX), { depth: 9 });
    const lines = linesOf(() =>
      loadConfig({ ...SANDBOX, DATABASE_URL: `mysql://${PASSWORD}`, MASTER_KEY: `${MASTER_KEY}AAAA` }),
    );
    // The key is random: its characters may mean something in a regular expression.
    for (const secret of [PASSWORD, MASTER_KEY.slice(0, 20)]) {
      expect(config).not.toContain(secret);
      expect(lines.join()).not.toContain(secret);
    }
  });
});

describe('the environment variables', () => {
  it.each([
    ['PORT', '70000'],
    ['ENVIRONMENT', 'staging'],
    ['DATABASE_URL', 'mysql://x'],
    ['DATABASE_URL', 'postgresql://user:p@first:5432,second:5432/db'],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233'],
    ['TEMPORAL_NAMESPACE', 'a b'],
    ['BASE_URL', 'api.example.com'],
    ['BASE_URL', 'https://api.example.com/'],
    ['MASTER_KEY', 'short'],
    ['MASTER_KEY', `${MASTER_KEY.slice(0, 20)}!${MASTER_KEY.slice(20)}`],
    ['MASTER_KEY_PREVIOUS', randomBytes(31).toString('base64')],
    ['ACCESS_TOKEN_LIFETIME', '1 hour'],
    ['ACCESS_TOKEN_LIFETIME', '0'],
    ['DELIVERY_RETRY_DELAYS', ','],
    ['DISABLE_AFTER', '-1d'],
    ['AUDIT_RETENTION', '12h'],
    ['WORKFLOWS_TRAIL', '0s'],
    ['BLOCKED_RECEIVERS', '10.0.0.0'],
    ['ALLOWED_NETWORKS', '10.0.0.0/33'],
    ['RATE_LIMIT', '0'],
    ['RETENTION', 'forever'],
    ['DATABASE_POOL_SIZE', '1'],
  ])('reports %s=%s in one line that names the variable and its valid values', (name, value) => {
    const lines = linesOf(() => readEnvironment({ [name]: value }));
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}: .*\\bgive\\b`))]);
  });

  it('ignore the port that Kubernetes sets for a Service of the same name', () => {
    const links = { POSTGRES_PORT: 'tcp://10.0.0.5:5432', TEMPORAL_PORT: 'tcp://10.0.0.6:7233' };
    const { POSTGRES_PORT, TEMPORAL_PORT, METRICS_PORT } = readEnvironment({
      ...links,
      METRICS_PORT: 'udp://[fd00::7]:1',
    });
    expect([POSTGRES_PORT, TEMPORAL_PORT, METRICS_PORT]).toEqual([5433, 7233, undefined]);
  });
});

const PRODUCTION = {
  ...SANDBOX,
  ...{ ENVIRONMENT: 'production', BASE_URL: 'https://api.example.com', TRUSTED_PROXIES: '10.244.0.0/16' },
};

/** Neither a text nor a count. */
const FIFTEEN_DISTINCT = Array.from({ length: 32 }, (_, i) => ((i % 15) ** 2 + 128) & 0xff);

describe('the settings of production', () => {
  it('starts in production with secure settings', () => {
    expect(linesOf(() => loadConfig(PRODUCTION))).toEqual([]);
  });

  it.each([
    ['BASE_URL', { BASE_URL: 'http://api.example.com', AUTH_URL: 'https://auth.example.com' }],
    ['BASE_URL', { BASE_URL: '', AUTH_URL: 'https://auth.example.com' }],
    ['AUTH_URL', { AUTH_URL: 'http://auth.example.com' }],
    ['MASTER_KEY', { MASTER_KEY: '' }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.alloc(32).toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from(FIFTEEN_DISTINCT).toString('base64') }],
    ['ALLOW_PRIVATE_RECEIVERS', { ALLOW_PRIVATE_RECEIVERS: 'true' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: '' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: ' , ' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: 'none,10.0.0.0/8' }],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: '10.0.0.0/8 none' }],
  ])('refuses an insecure %s in production and names it', (name, change) => {
    expect(linesOf(() => loadConfig({ ...PRODUCTION, ...change }))).toEqual([expect.stringMatching(`^${name}: `)]);
  });

  it('accepts in production a MASTER_KEY of 16 distinct bytes, and any MASTER_KEY_PREVIOUS, so that a weak key can be replaced', () => {
    const sixteen = Buffer.from([...FIFTEEN_DISTINCT.slice(1), 1]).toString('base64');
    expect(linesOf(() => loadConfig({ ...PRODUCTION, MASTER_KEY: sixteen }))).toEqual([]);
    expect(
      linesOf(() => loadConfig({ ...PRODUCTION, MASTER_KEY_PREVIOUS: Buffer.alloc(32).toString('base64') })),
    ).toEqual([]);
  });

  it.each(['none', 'None', ' none ', 'none,'])('starts without a proxy if TRUSTED_PROXIES is "%s"', (text) => {
    expect(loadConfig({ ...PRODUCTION, TRUSTED_PROXIES: text })).toMatchObject({ trustedProxies: [] });
  });
});

describe('unknown settings', () => {
  it.each(['RATE_LIMITS', 'CLIENT_POOLS', 'DELIVERY_CONCURRENCY'])(
    '%s has a prefix of the service, and is none of its settings',
    (name) => {
      expect(unknownSettings({ [name]: 'hunter2' })).toEqual([
        `${name}: is not a setting and has no effect; remove it or correct its name`,
      ]);
    },
  );

  it('every setting, every source of a secret, and the variables of other programs are accepted', () => {
    const env = Object.fromEntries(Object.keys(settings).map((name) => [name, 'x']));
    const others = {
      ...{ HOME: '/root', HOSTNAME: 'a', PATH: '/bin', LANG: 'C', LOGNAME: 'root', PWD: '/', SHLVL: '1', USER: 'root' },
      ...{
        NODE_OPTIONS: '',
        NODE_ENV: 'production',
        OTEL_SERVICE_NAME: 'x',
        POSTGRES_PASSWORD: 'x',
        POSTGRES_USER: 'x',
      },
      ...{
        KUBERNETES_PORT: 'tcp://',
        npm_config_cache: '/tmp',
        PORTS: '1',
        HOSTS: 'x',
        SUDO_USER: 'x',
        PUBLIC_HOST: 'x',
      },
    };
    const given = { ...env, OTEL_TRACES_EXPORTER: 'otlp', MASTER_KEY_FILE: 'x', DATABASE_URL_FILE: 'x' };
    expect(unknownSettings({ ...given, ...others })).toEqual([]);
  });

  it('what Kubernetes sets for Services of its namespace is accepted', () => {
    const links = {
      ...{ TRANSFER_SERVICE_PORT: 'tcp://10.0.0.9:3000', TRANSFER_SERVICE_SERVICE_HOST: '10.0.0.9' },
      ...{ TEMPORAL_FRONTEND_PORT: 'tcp://10.0.0.6:7233', TEMPORAL_SERVICE_PORT_GRPC: '7233' },
      ...{ TEMPORAL_PORT_7233_TCP: 'tcp://10.0.0.6:7233', TEMPORAL_PORT_7233_TCP_ADDR: '10.0.0.6' },
    };
    expect(unknownSettings(links)).toEqual([]);
  });
});
