import { Untrusted } from '../../components/untrusted.js';
import { form, page, seeOther } from '../../page.js';
import { changeEndpoint, type Endpoint, pathOf, readEndpoint, WRITE } from './endpoint.js';
import { concurrencyOf, descriptionOf, EndpointFields } from './form.js';
import { EndpointHead } from './head.js';

/** The field with `updated_at` of the endpoint that the form shows. */
const SHOWN = 'shown';

const editPage = page({
  path: '/console/endpoints/{webhookId}/edit',
  scope: WRITE,
  points: 2,
  title: 'Edit an endpoint',
  async view(visit) {
    const endpoint = await readEndpoint(visit);
    const path = pathOf(endpoint.webhookId);
    return (
      <>
        <EndpointHead endpoint={endpoint} here="edit" visit={visit} />
        {visit.refused?.refusal.code === 'endpoint_changed' && <Present endpoint={endpoint} />}
        <form class="card" method="post" action={`${path}/edit`}>
          <input type="hidden" name={SHOWN} value={endpoint.updated_at} />
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

/** What another editor saved, beside the fields that this editor typed. */
function Present({ endpoint: { url, description, max_concurrency } }: { endpoint: Endpoint }) {
  return (
    <p class="caution">
      It now has the URL <Untrusted text={url} />
      {description ? (
        <>
          {' '}
          and the description <Untrusted text={description} />
        </>
      ) : (
        ' and no description'
      )}
      {max_concurrency !== null && `, and gets at most ${max_concurrency} deliveries at the same time`}. Saving replaces
      them with the fields below.
    </p>
  );
}

const edit = form({
  path: '/console/endpoints/{webhookId}/edit',
  scope: WRITE,
  page: editPage,
  async submit(visit, fields) {
    const change = {
      url: fields.get('url') ?? '',
      description: descriptionOf(fields),
      max_concurrency: concurrencyOf(fields),
    };
    await changeEndpoint(visit, change, fields.get(SHOWN) ?? undefined);
    return seeOther(pathOf(visit.params.webhookId), 'Saved.');
  },
});

export const editPages = [editPage, edit];
