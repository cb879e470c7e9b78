import { inspect } from 'node:util';
import { isConfigured, loadConfig } from '../../../src/platform/config/config.js';
import { linesOf, MASTER_KEY, PASSWORD, SANDBOX } from '../../support/configuration.js';

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
      workerConcurrency: 150,
      clientConcurrency: 60,
      clientPools: 1_000,
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
