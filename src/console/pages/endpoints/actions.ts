import { form, seeOther } from '../../page.js';
import { changeEndpoint, pathOf, WRITE } from './endpoint.js';
import { healthOf } from './health.js';
import { missedSince } from './missed-since.js';
import { endpointPage } from './show.js';

const disable = form({
  path: '/console/endpoints/{webhookId}/disable',
  scope: WRITE,
  page: endpointPage,
  async submit(visit) {
    await changeEndpoint(visit, { enabled: false });
    return seeOther(pathOf(visit.params.webhookId), 'The endpoint is disabled. Nothing is sent to it.');
  },
});

/** Enabling leads to the recover of what was missed, with its count. */
const enable = form({
  path: '/console/endpoints/{webhookId}/enable',
  scope: WRITE,
  page: endpointPage,
  async submit(visit) {
    const { webhookId } = visit.params;
    const health = (await healthOf(visit)).get(webhookId);
    const endpoint = await changeEndpoint(visit, { enabled: true });
    const since = missedSince(endpoint, health, visit.config.retention);
    return seeOther(
      `${pathOf(webhookId)}/recover?since=${encodeURIComponent(since)}`,
      'The endpoint is enabled. Below is what it missed.',
    );
  },
});

export const actions = [disable, enable];
