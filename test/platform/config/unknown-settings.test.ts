import { expect, it } from '@jest/globals';
import { settings } from '../../../src/platform/config/config.js';
import { unknownSettings } from '../../../src/platform/config/environment.js';

const namedBy = (env: NodeJS.ProcessEnv) => unknownSettings(env).map((line) => line.split(':')[0]);

it.each([
  ['RATE_LIMITS', 'RATE_LIMIT'],
  ['RATELIMIT', 'RATE_LIMIT'],
  ['ALOWED_NETWORKS', 'ALLOWED_NETWORKS'],
  ['TRUSTED_PROXEIS', 'TRUSTED_PROXIES'],
  ['MASTER_KEY_FILES', 'MASTER_KEY_FILE'],
  ['DATABASE_URLS', 'DATABASE_URL'],
])('%s is taken for a misspelt %s', (name, meant) => {
  expect(unknownSettings({ [name]: 'hunter2' })).toEqual([
    `${name}: is not a setting and has no effect; did you mean ${meant}?`,
  ]);
});

it.each(['DATABASE_TIMEOUT', 'REQUEST_DEADLINE_MS', 'TEMPORAL_CLUSTER', 'DELIVERY_CONCURRENCY', 'METRICS_PATH_PREFIX'])(
  '%s has a prefix of the service, and is none of its settings',
  (name) => {
    expect(unknownSettings({ [name]: 'hunter2' })).toEqual([`${name}: is not a setting and has no effect; remove it`]);
  },
);

it('every setting, every source of a secret, and the variables of other programs are accepted', () => {
  const env = Object.fromEntries(Object.keys(settings).map((name) => [name, 'x']));
  const others = {
    ...{ HOME: '/root', HOSTNAME: 'a', PATH: '/bin', LANG: 'C', LOGNAME: 'root', PWD: '/', SHLVL: '1', USER: 'root' },
    ...{ NODE_OPTIONS: '', NODE_ENV: 'production', OTEL_SERVICE_NAME: 'x', POSTGRES_PASSWORD: 'x', POSTGRES_USER: 'x' },
    ...{
      KUBERNETES_PORT: 'tcp://',
      npm_config_cache: '/tmp',
      PORTS: '1',
      HOSTS: 'x',
      SUDO_USER: 'x',
      PUBLIC_HOST: 'x',
    },
  };
  expect(unknownSettings({ ...env, ...others, MASTER_KEY_FILE: 'x', DATABASE_URL_COMMAND: 'x' })).toEqual([]);
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
