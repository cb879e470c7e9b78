import { loadConfig } from '../../../src/platform/config/config.js';
import { linesOf, SANDBOX } from '../../support/configuration.js';

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
    ['MASTER_KEY', { MASTER_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.alloc(32, 'a').toString('base64') }],
    ['MASTER_KEY', { MASTER_KEY: Buffer.from([...Buffer.alloc(31), 1]).toString('base64') }],
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
