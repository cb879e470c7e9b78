import { lockEndpoint } from '../../../endpoints/endpoints.js';
import { Refusal } from '../../../platform/refusal.js';
import { type PendingAlone, readPendingAlone } from '../../../reports/pending-alone.js';
import { Live, PostButton, Submit, timeValue } from '../../components/parts.js';
import { countOf, RelativeTime, Time } from '../../components/values.js';
import { seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { SecretField } from './edit.js';
import { type Endpoint, endpointForm, endpointPage, healthOf, readEndpoint, readEndpoints } from './endpoint.js';
import { HeaderFields, headersOf } from './headers.js';
import { EndpointTable } from './health.js';
import { SendPending } from './state.js';

/**
 * The switch to a new secret. The endpoints are its only state: the newest of those with the
 * same URL that were registered later takes over.
 */
const newSecretPage = endpointPage('new-secret', {
  points: 4,
  async view({ visit, endpoint, path }) {
    const second = successorOf(endpoint, await readEndpoints(visit));
    const registration = (
      <form class="card stack narrow" method="post" action={`${path}/new-secret`}>
        <p>
          A secret cannot be changed in place. A second endpoint with the same URL and the new secret takes over, so no
          event is lost. Each event then arrives twice with the same id. Process it once.
        </p>
        <p>
          Configure your receiver to accept both secrets first: a delivery is valid if its signature matches either.
        </p>
        <SecretField />
        {endpoint.headers.length > 0 && <HeaderFields stored={endpoint.headers.map(({ name }) => name)} needsValues />}
        <Submit>Register the second endpoint</Submit>
      </form>
    );
    if (!second) return registration;
    const health = await healthOf(visit);
    const alone = await visit.read((db) => readPendingAlone(db, endpoint.webhookId, second.webhookId));
    const receives = health.get(second.webhookId)?.lastSuccessAt;
    return (
      <>
        <Live id="switch-over" class="stack" path={`${path}/new-secret`}>
          <p>
            An endpoint with the same URL was registered <RelativeTime at={second.created_at} />. If it has the new
            secret, it takes over.
          </p>
          <EndpointTable endpoints={[endpoint, second]} health={health} />
          {alone ? (
            <StillPending alone={alone} first={endpoint} second={second} />
          ) : (
            <>
              <p class={`banner ${receives ? 'good' : 'warn'}`}>
                {receives
                  ? 'The second has received. Delete the first, then remove the old secret from your receiver.'
                  : 'The second has received nothing yet. If your receiver rejects the new secret, nothing would arrive.'}
              </p>
              <PostButton action={`${path}/new-secret/delete-first`} class="danger">
                Delete the first endpoint
              </PostButton>
            </>
          )}
        </Live>
        <details open={visit.refused !== undefined}>
          <summary>Register another endpoint instead</summary>
          {registration}
        </details>
      </>
    );
  },
});

/** The enabled endpoint that takes over, of the client's endpoints, newest first. */
function successorOf(first: Endpoint, endpoints: readonly Endpoint[]): Endpoint | undefined {
  return endpoints.find(({ url, webhookId, enabled }) => enabled && url === first.url && webhookId > first.webhookId);
}

/** Why the first endpoint cannot be deleted yet, and what to do instead of waiting. */
function StillPending({ alone, first, second }: { alone: PendingAlone; first: Endpoint; second: Endpoint }) {
  const recovery = new URLSearchParams({ since: timeValue(alone.since) });
  return (
    <section class="banner warn" aria-label="Pending deliveries">
      <h2>{pendingAloneText(alone)}</h2>
      <p>
        Deleting the first endpoint would cancel them. Send them now, or wait until there are none: this page then shows
        the button. Or{' '}
        <a href={`${endpointPath(second.webhookId)}/statement?${recovery}`}>recover them at the second endpoint</a>: it
        then receives every event since <Time at={alone.since} /> that it has no delivery of.
      </p>
      {first.enabled && <SendPending webhookId={first.webhookId} since={alone.since} />}
    </section>
  );
}

/** `Pending at the first endpoint alone: 12 deliveries.` */
const pendingAloneText = ({ count, more }: PendingAlone) =>
  `Pending at the first endpoint alone: ${more ? 'more than ' : ''}${countOf(count, 'delivery', 'deliveries')}.`;

const registerSecond = endpointForm('new-secret', newSecretPage, async (visit, fields) => {
  const { url, description, max_concurrency, max_per_second, signatures } = await readEndpoint(visit);
  const own = { headers: headersOf(fields), secret: fields.get('secret') ?? '' };
  const body = { url, description, max_concurrency, max_per_second, signatures, ...own };
  await visit.operations.change('registerWebhookEndpoint', { body });
  return seeOther(`${endpointPath(visit.params.webhookId)}/new-secret`, 'The second endpoint is registered.');
});

const deleteFirst = endpointForm('new-secret/delete-first', newSecretPage, async (visit) => {
  const [first, endpoints] = await Promise.all([readEndpoint(visit), readEndpoints(visit)]);
  const second = successorOf(first, endpoints);
  // Without the second endpoint, deleting the first would stop all deliveries to this URL.
  if (!second) throw new Refusal('not_found', 'There is no second enabled endpoint with this URL; register it first.');
  await visit.operations.change('deleteWebhookEndpoint', {
    params: { webhookId: first.webhookId },
    before: async (tx) => {
      // It may have been disabled or moved since it was read.
      const { enabled, url } = await lockEndpoint(tx, visit.session.clientId, second.webhookId);
      if (!enabled || url !== first.url) throw new Refusal('changed_meanwhile', 'The second endpoint has changed.');
      const alone = await readPendingAlone(tx, first.webhookId, second.webhookId);
      if (alone) throw new Refusal('changed_meanwhile', `${pendingAloneText(alone)} Wait until there are none.`);
    },
  });
  return seeOther(endpointPath(second.webhookId), 'The switch is complete: this endpoint signs with the new secret.');
});

export const newSecretPages = [newSecretPage, registerSecond, deleteFirst];
