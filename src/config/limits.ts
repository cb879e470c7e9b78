import { MAX_CONCURRENCY } from '../max-concurrency.js';
import { count, DAY, durationWithin, networks, SECOND } from './forms.js';
import { setting } from './setting.js';

/** The networks that may connect, and the limits of requests, endpoints and time. */
export const limitSettings = {
  ALLOWED_NETWORKS: setting(networks, '', 'CIDRs that may connect to the API. Empty: any address.'),
  TRUSTED_PROXIES: setting(networks, '', 'CIDRs of the proxies whose `X-Forwarded-For` the API trusts.'),
  RATE_LIMIT: setting(count(1, 1_000_000), '100', 'Requests per second, for each client and process.'),
  ENDPOINT_CONCURRENCY: setting(
    count(1, MAX_CONCURRENCY),
    '10',
    'Attempts at once at one endpoint, over all workers. An endpoint may have its own `max_concurrency`.',
  ),
  MAX_ENDPOINTS: setting(count(1, 10_000), '20', 'Webhook endpoints that a client may have.'),
  RETENTION: setting(durationWithin(SECOND, 3_650 * DAY), '90d', 'How long events, deliveries and attempts are kept.'),
  TRANSFER_RETENTION: setting(
    durationWithin(DAY, 36_500 * DAY),
    undefined,
    'How long ended transfers are kept, for `transfers expire`. Unset: for good.',
  ),
  REQUEST_DEADLINE: setting(
    durationWithin(SECOND, 20 * SECOND),
    '15s',
    'Time after which the API answers a request with 503 at the latest. Time-outs of proxies in front of it must be longer.',
  ),
  SHUTDOWN_DELAY: setting(
    durationWithin(0, 300 * SECOND),
    '5s',
    'How long the API goes on serving after SIGTERM, unready, so that load balancers stop sending first (embedded stack: 0s).',
  ),
} as const;
