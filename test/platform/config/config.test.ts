import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { isConfigured, loadConfig, readEnvironment, settings } from '../../../src/platform/config/config.js';
import { unknownSettings } from '../../../src/platform/config/environment.js';
import { linesOf, MASTER_KEY, PASSWORD, SANDBOX } from '../../support/configuration.js';

describe('the configuration', () => {
  it('has its documented defaults', () => {
    expect(loadConfig(SANDBOX)).toMatchObject({
      environment: 'sandbox',
      baseUrl: 'http://localhost:3000',
      authUrl: 'http://localhost:3000',
      accessTokenLifetime: 3_600_000,
      retryDelays: [0, 300_000, 1_800_000, 7_200_000, 21_600_000, 86_400_000],
      disableAfter: 432_000_000,
      workflows: 'every-event',
      workflowsTrail: 3_600_000,
      receivers: { allowPrivate: false, blocked: [] },
      rateLimit: 100,
      endpointConcurrency: 10,
      workerConcurrency: 1_000,
      clientConcurrency: 60,
      maxEndpoints: 20,
      retention: 7_776_000_000,
      metrics: undefined,
      tracing: false,
    });
  });

  it.each(['ENVIRONMENT', 'DATABASE_URL', 'TEMPORAL_ADDRESS', 'MASTER_KEY'])('%s has no default', (name) => {
    for (const value of [undefined, '']) {
      expect(linesOf(() => loadConfig({ ...SANDBOX, [name]: value }))).toEqual([
        expect.stringMatching(`^${name}: is not set`),
      ]);
    }
  });

  it.each(['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'])(
    'makes traces if %s names a collector',
    (name) => {
      expect(loadConfig({ ...SANDBOX, [name]: 'http://collector:4318' }).tracing).toBe(true);
      expect(loadConfig({ ...SANDBOX, [name]: '' }).tracing).toBe(false);
      expect(linesOf(() => loadConfig({ ...SANDBOX, [name]: 'collector:4318' }))).toEqual([
        `${name}: give an http(s) URL, such as http://localhost:4318`,
      ]);
    },
  );

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

  it.each([
    ['OTEL_SDK_DISABLED', ['true', 'TRUE', ' true '], ['false', '', '1', 'yes']],
    ['OTEL_TRACES_EXPORTER', ['none', 'zipkin', 'console,jaeger', ' none '], ['otlp', '', 'otlp,console']],
  ])("obeys OpenTelemetry's own %s", (name, off, on) => {
    const tracing = (value: string) =>
      loadConfig({ ...SANDBOX, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', [name]: value }).tracing;
    expect([off.map(tracing), on.map(tracing)]).toEqual([off.map(() => false), on.map(() => true)]);
  });

  it('reports every validation error at once', () => {
    expect(linesOf(() => loadConfig({ ...SANDBOX, PORT: 'x', WORKFLOWS: 'x' }))).toHaveLength(2);
  });

  it('accepts a BASE_URL with a port and a path', () => {
    const BASE_URL = 'https://example.com:8443/api/v1';
    expect(loadConfig({ ...SANDBOX, BASE_URL })).toMatchObject({ baseUrl: BASE_URL, authUrl: BASE_URL });
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

  it('counts as configured if Postgres or Temporal is named', () => {
    expect([{}, { DATABASE_URL: 'x' }, { TEMPORAL_ADDRESS: 'x' }].map(isConfigured)).toEqual([false, true, true]);
  });
});

describe('the environment variables', () => {
  it.each([
    ['PORT', '70000'],
    ['PORT', 'tcp://10.0.0.9:3000'],
    ['ENVIRONMENT', 'staging'],
    ['DATABASE_URL', 'mysql://x'],
    ['DATABASE_URL', 'postgresql://[x'],
    ['DATABASE_URL', 'postgresql://user:p@first:5432,second:5432/db'],
    ['DATABASE_URL', 'postgresql://user:p#ss@host:5432/db'],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233'],
    ['TEMPORAL_NAMESPACE', 'a b'],
    ['BASE_URL', 'api.example.com'],
    ['BASE_URL', 'https://api.example.com/'],
    ['BASE_URL', 'https://:password@api.example.com'],
    ['BASE_URL', 'https://api.example.com '],
    ['BASE_URL', 'https://api.example.com?'],
    ['BASE_URL', 'HTTPS://API.example.com'],
    ['BASE_URL', 'https://api.example.com:443'],
    ['AUTH_URL', 'ftp://auth.example.com'],
    ['MASTER_KEY', 'short'],
    ['MASTER_KEY', `${MASTER_KEY}AAAA`],
    ['MASTER_KEY', `${MASTER_KEY.slice(0, 20)}!${MASTER_KEY.slice(20)}`],
    ['MASTER_KEY_PREVIOUS', randomBytes(31).toString('base64')],
    ['ACCESS_TOKEN_LIFETIME', '1 hour'],
    ['ACCESS_TOKEN_LIFETIME', '0'],
    ['DELIVERY_RETRY_DELAYS', ','],
    ['DELIVERY_RETRY_DELAYS', '0s,soon'],
    ['DELIVERY_RETRY_DELAYS', '0s,3651d'],
    ['DISABLE_AFTER', '-1d'],
    ['TRANSFER_RETENTION', '36501d'],
    ['AUDIT_RETENTION', '12h'],
    ['WORKFLOWS', 'some'],
    ['WORKFLOWS_TRAIL', '0s'],
    ['ALLOW_PRIVATE_RECEIVERS', 'yes'],
    ['BLOCKED_RECEIVERS', '10.0.0.0'],
    ['ALLOWED_NETWORKS', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', 'localhost'],
    ['RATE_LIMIT', '0'],
    ['MAX_ENDPOINTS', '1.5'],
    ['RETENTION', 'forever'],
    ['METRICS_PORT', '-1'],
    ['LOG_LEVEL', 'loud'],
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

  it('has a meaning for each variable, and a valid default', () => {
    expect(() => readEnvironment({})).not.toThrow();
    for (const { meaning } of Object.values(settings)) expect(meaning).toMatch(/\.$/);
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

  it('rejects an http: BASE_URL in production, even with the scheme in capitals', () => {
    expect(linesOf(() => loadConfig({ ...PRODUCTION, BASE_URL: 'HTTP://api.example.com' }))).toEqual([
      expect.stringMatching('^BASE_URL: '),
    ]);
    expect(linesOf(() => loadConfig({ ...PRODUCTION, AUTH_URL: 'Http://api.example.com' }))).toEqual([
      expect.stringMatching('^AUTH_URL: '),
    ]);
  });

  it.each(['none', 'None', ' none ', 'none,'])('starts without a proxy if TRUSTED_PROXIES is "%s"', (text) => {
    expect(loadConfig({ ...PRODUCTION, TRUSTED_PROXIES: text })).toMatchObject({ trustedProxies: [] });
  });
});

describe('unknown settings', () => {
  const namedBy = (env: NodeJS.ProcessEnv) => unknownSettings(env).map((line) => line.split(':')[0]);

  it.each([
    'RATE_LIMITS',
    'CLIENT_POOLS',
    'TRUSTED_PROXEIS',
    'MASTER_KEY_FILES',
    'DATABASE_URLS',
    'DATABASE_TIMEOUT',
    'REQUEST_DEADLINE_MS',
    'TEMPORAL_CLUSTER',
    'DELIVERY_CONCURRENCY',
    'METRICS_PATH_PREFIX',
  ])('%s has a prefix of the service, and is none of its settings', (name) => {
    expect(unknownSettings({ [name]: 'hunter2' })).toEqual([
      `${name}: is not a setting and has no effect; remove it or correct its name`,
    ]);
  });

  it.each([
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' },
    { OTEL_TRACES_EXPORTER: 'zipkin' },
    { OTEL_METRICS_EXPORTER: 'otlp' },
    { OTEL_PROPAGATORS: 'b3' },
    { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector:4318' },
    { OTEL_EXPORTER_OTLP_INSECURE: 'true' },
    { OTEL_LOG_LEVEL: 'debug' },
  ])('%j is of OpenTelemetry, and is not obeyed', (env) => {
    const [name = ''] = Object.keys(env);
    expect(unknownSettings(env)).toEqual([expect.stringMatching(`^${name}: has no effect here; `)]);
  });

  it.each([
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    { OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none' },
    { OTEL_PROPAGATORS: 'tracecontext,baggage' },
    { OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '9', OTEL_RESOURCE_ATTRIBUTES: 'a=b' },
    { OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=b', OTEL_EXPORTER_OTLP_CERTIFICATE: '/x', OTEL_LOG_LEVEL: '' },
  ])('%j is of OpenTelemetry, and holds', (env) => {
    expect(unknownSettings(env)).toEqual([]);
  });

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

  it('an empty variable counts as unset', () => {
    expect(namedBy({ DATABASE_TIMEOUT: '', RATE_LIMITS: '' })).toEqual([]);
  });
});
