import { form, page, seeOther } from '../../page.js';
import { pathOf, readEndpoint, WRITE } from './endpoint.js';
import { EndpointHead } from './head.js';
import { healthOf } from './health.js';
import { Waiting } from './trouble.js';

const deletePage = page({
  path: '/console/endpoints/{webhookId}/delete',
  scope: WRITE,
  points: 2,
  title: 'Delete an endpoint',
  async view(visit) {
    const endpoint = await readEndpoint(visit);
    const health = (await healthOf(visit)).get(endpoint.webhookId);
    const path = pathOf(endpoint.webhookId);
    return (
      <>
        <EndpointHead endpoint={endpoint} here="delete" visit={visit} />
        <form class="card" method="post" action={`${path}/delete`}>
          <p>
            <strong>This cannot be undone.</strong> The secret is erased, and what waits is cancelled and cannot be sent
            again. {health && <Waiting pending={health.pending} now={new Date()} />}
          </p>
          <p>To stop deliveries for a while, disable the endpoint instead: what it misses can then be recovered.</p>
          <p class="actions">
            <button type="submit" class="danger">
              Delete this endpoint
            </button>
            <a href={path}>Keep it</a>
          </p>
        </form>
      </>
    );
  },
});

const deletion = form({
  path: '/console/endpoints/{webhookId}/delete',
  scope: WRITE,
  page: deletePage,
  async submit({ operations, params: { webhookId } }) {
    await operations.change('deleteWebhookEndpoint', { params: { webhookId } });
    return seeOther('/console/endpoints', 'The endpoint is deleted.');
  },
});

export const deletePages = [deletePage, deletion];
