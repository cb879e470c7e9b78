import { randomBytes } from 'node:crypto';
import { readEnvironment, settings } from '../../../src/platform/config/config.js';
import { linesOf, MASTER_KEY } from '../../support/configuration.js';

describe('the environment variables', () => {
  it.each([
    ['PORT', '70000'],
    ['PORT', 'http'],
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
    ['DELIVERY_RETRY_DELAYS', '0s,999999999d'],
    ['DELIVERY_RETRY_DELAYS', '0s,3651d'],
    ['DISABLE_AFTER', '-1d'],
    ['DISABLE_AFTER', '999999999d'],
    ['TRANSFER_RETENTION', '36501d'],
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
