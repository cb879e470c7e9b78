import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { isConfigured, loadConfig, readEnvironment, settings } from '../src/config.js';
import { ConfigError } from '../src/config-error.js';

const MASTER_KEY = randomBytes(32).toString('base64');
const PASSWORD = 'hunter2-of-postgres';
const SANDBOX = {
  ENVIRONMENT: 'sandbox',
  DATABASE_URL: `postgresql://app:${PASSWORD}@db.internal/app`,
  TEMPORAL_ADDRESS: 'temporal.internal:7233',
  MASTER_KEY,
};
/** Neither a text nor a count. */
const FIFTEEN_DISTINCT = Array.from({ length: 32 }, (_, i) => ((i % 15) ** 2 + 128) & 0xff);
const PRODUCTION = { ...SANDBOX, ENVIRONMENT: 'production', BASE_URL: 'https://api.example.com' };

function linesOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.lines;
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('has the defaults of the contract', () => {
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
      maxEndpoints: 20,
      retention: 7_776_000_000,
      metrics: undefined,
      tracing: false,
    });
  });

  it.each([
    ['PORT', '70000'],
    ['PORT', 'http'],
    ['ENVIRONMENT', 'staging'],
    ['DATABASE_URL', 'mysql://x'],
    ['DATABASE_URL', 'postgresql://[x'],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233'],
    ['TEMPORAL_NAMESPACE', 'a b'],
    ['BASE_URL', 'api.example.com'],
    ['BASE_URL', 'https://api.example.com/'],
    ['BASE_URL', 'https://user@api.example.com'],
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
    ['TEMPORAL_ADDRESS', 'temporal:99999'],
    ['ACCESS_TOKEN_LIFETIME', '1 hour'],
    ['ACCESS_TOKEN_LIFETIME', '0'],
    ['ACCESS_TOKEN_LIFETIME', '999999999d'],
    ['DELIVERY_RETRY_DELAYS', '0s,soon'],
    ['DISABLE_AFTER', '-1d'],
    ['WORKFLOWS', 'some'],
    ['WORKFLOWS_TRAIL', '0s'],
    ['WORKFLOWS_TRAIL', 'never'],
    ['ALLOW_PRIVATE_RECEIVERS', 'yes'],
    ['BLOCKED_RECEIVERS', '10.0.0.0'],
    ['ALLOWED_NETWORKS', '10.0.0.0/33'],
    ['ALLOWED_NETWORKS', '10.1/16'],
    ['ALLOWED_NETWORKS', '010.0.0.0/8'],
    ['TRUSTED_PROXIES', 'localhost'],
    ['RATE_LIMIT', '0'],
    ['MAX_ENDPOINTS', '1.5'],
    ['RETENTION', 'forever'],
    ['RETENTION', '0'],
    ['METRICS_PORT', '-1'],
    ['LOG_LEVEL', 'loud'],
    ['DATABASE_POOL_SIZE', '1'],
  ])('reports %s=%s in one line that names the variable and its valid values', (name, value) => {
    const lines = linesOf({ ...SANDBOX, [name]: value });
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^${name}: .*\\bgive\\b`))]);
  });

  it.each(['ENVIRONMENT', 'DATABASE_URL', 'TEMPORAL_ADDRESS', 'MASTER_KEY'])('%s has no default', (name) => {
    for (const value of [undefined, '']) {
      expect(linesOf({ ...SANDBOX, [name]: value })).toEqual([expect.stringMatching(`^${name}: is not set`)]);
    }
  });

  it.each(['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'])(
    'makes traces if %s names a collector',
    (name) => {
      expect(loadConfig({ ...SANDBOX, [name]: 'http://collector:4318' }).tracing).toBe(true);
      expect(loadConfig({ ...SANDBOX, [name]: '' }).tracing).toBe(false);
      expect(linesOf({ ...SANDBOX, [name]: 'collector:4318' })).toEqual([
        `${name}: give an http(s) URL, such as http://localhost:4318`,
      ]);
    },
  );

  it('reports every validation error at once', () => {
    expect(linesOf({ ...SANDBOX, PORT: 'x', WORKFLOWS: 'x' })).toHaveLength(2);
  });

  it('starts in production with secure settings', () => {
    expect(linesOf(PRODUCTION)).toEqual([]);
  });

  it.each([
    ['BASE_URL', { BASE_URL: 'http://api.example.com', AUTH_URL: 'https://auth.example.com' }],
    ['BASE_URL', { BASE_URL: '', AUTH_URL: 'https://auth.example.com' }],
    ['AUTH_URL', { AUTH_URL: 'http://auth.example.com' }],
    ['MASTER_KEY', { MASTER_KEY: '' }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.alloc(32).toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.alloc(32, 'a').toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from([...Buffer.alloc(31), 1]).toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from(FIFTEEN_DISTINCT).toString('base64') }],
    ['ALLOW_PRIVATE_RECEIVERS', { ALLOW_PRIVATE_RECEIVERS: 'true' }],
  ])('refuses an insecure %s in production and names it', (name, change) => {
    expect(linesOf({ ...PRODUCTION, ...change })).toEqual([expect.stringMatching(`^${name}: `)]);
  });

  it('accepts in production a MASTER_KEY of 16 distinct bytes, and any MASTER_KEY_PREVIOUS, so that a weak key can be replaced', () => {
    const sixteen = Buffer.from([...FIFTEEN_DISTINCT.slice(1), 1]).toString('base64');
    expect(linesOf({ ...PRODUCTION, MASTER_KEY: sixteen })).toEqual([]);
    expect(linesOf({ ...PRODUCTION, MASTER_KEY_PREVIOUS: Buffer.alloc(32).toString('base64') })).toEqual([]);
  });

  it('refuses an http: BASE_URL in production also if the scheme is in capitals', () => {
    expect(linesOf({ ...PRODUCTION, BASE_URL: 'HTTP://api.example.com' })).toEqual([
      expect.stringMatching('^BASE_URL: '),
    ]);
    expect(linesOf({ ...PRODUCTION, AUTH_URL: 'Http://api.example.com' })).toEqual([
      expect.stringMatching('^AUTH_URL: '),
    ]);
  });

  it('accepts a BASE_URL with a port and a path', () => {
    const BASE_URL = 'https://example.com:8443/api/v1';
    expect(loadConfig({ ...PRODUCTION, BASE_URL })).toMatchObject({ baseUrl: BASE_URL, authUrl: BASE_URL });
  });

  it('contains no secret when it is printed, nor in a validation error', () => {
    const config = inspect(loadConfig(SANDBOX), { depth: 9 });
    const lines = linesOf({ ...SANDBOX, DATABASE_URL: `mysql://${PASSWORD}`, MASTER_KEY: `${MASTER_KEY}AAAA` });
    // The key is random: its characters may mean something in a regular expression.
    for (const secret of [PASSWORD, MASTER_KEY.slice(0, 20)]) {
      expect(config).not.toContain(secret);
      expect(lines.join()).not.toContain(secret);
    }
  });

  it('counts as configured if Postgres or Temporal is named', () => {
    expect([{}, { DATABASE_URL: 'x' }, { TEMPORAL_ADDRESS: 'x' }].map(isConfigured)).toEqual([false, true, true]);
  });

  it('has a meaning for each variable, and a valid default', () => {
    expect(() => readEnvironment({})).not.toThrow();
    for (const { meaning } of Object.values(settings)) expect(meaning).toMatch(/\.$/);
  });
});
