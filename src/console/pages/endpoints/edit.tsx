import { form, page, seeOther } from '../../page.js';
import { changeEndpoint, pathOf, readEndpoint, WRITE } from './endpoint.js';
import { descriptionOf, EndpointFields } from './form.js';
import { EndpointHead } from './head.js';

const editPage = page({
  path: '/console/endpoints/{webhookId}/edit',
  scope: WRITE,
  title: 'Edit an endpoint',
  async view(visit) {
    const endpoint = await readEndpoint(visit);
    const path = pathOf(endpoint.webhookId);
    return (
      <>
        <EndpointHead endpoint={endpoint} here="edit" visit={visit} />
        <form class="card" method="post" action={`${path}/edit`}>
          <EndpointFields {...endpoint} refused={visit.refused} config={visit.config} />
          <p class="actions">
            <button type="submit" class="primary">
              Save
            </button>
            <a href={path}>Cancel</a>
          </p>
        </form>
        <p class="muted">
          Deliveries that wait go to the new URL. The secret cannot be changed here:{' '}
          <a href={`${path}/new-secret`}>switch over to a new secret</a>.
        </p>
      </>
    );
  },
});

const edit = form({
  path: '/console/endpoints/{webhookId}/edit',
  scope: WRITE,
  page: editPage,
  async submit(visit, fields) {
    await changeEndpoint(visit, { url: fields.get('url') ?? '', description: descriptionOf(fields) });
    return seeOther(pathOf(visit.params.webhookId), 'Saved.');
  },
});

export const editPages = [editPage, edit];
