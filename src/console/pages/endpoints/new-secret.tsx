import { Refusal } from '../../../platform/refusal.js';
import { type PendingAlone, readPendingAlone } from '../../../reports/pending-alone.js';
import { Table } from '../../components/lists.js';
import { Card, Live, PostButton, Submit, timeValue } from '../../components/parts.js';
import { countOf, RelativeTime, Time } from '../../components/values.js';
import { seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { SecretField } from './edit.js';
import {
  type Endpoint,
  endpointForm,
  endpointPage,
  type HealthByEndpoint,
  healthOf,
  readEndpoint,
  readEndpoints,
} from './endpoint.js';
import { LastSuccess } from './health.js';

/**
 * The switch to a new secret (spec §5, Secret rotation) as three steps. The endpoints are its only state: `new` in
 * the query names the second endpoint, and without it the page finds later endpoints with the same URL.
 */
const newSecretPage = endpointPage('new-secret', {
  points: 4,
  async view({ visit, endpoint, path: first }) {
    const path = `${first}/new-secret`;
    const successors = successorsOf(endpoint, await readEndpoints(visit));
    const second = successors.find(({ webhookId }) => webhookId === visit.query.get('new'));
    return (
      <>
        <p>
          A secret cannot be changed in place. A second endpoint with the same URL and the new secret takes over, so no
          event is lost.
        </p>
        {second ? (
          <BothReceive
            first={endpoint}
            second={second}
            health={await healthOf(visit)}
            alone={await visit.read((db) => readPendingAlone(db, endpoint.webhookId, second.webhookId))}
          />
        ) : (
          <>
            {successors.map(({ webhookId, created_at }) => (
              <p class="banner good" key={webhookId}>
                <span>
                  An endpoint with this URL was registered <RelativeTime at={created_at} />.{' '}
                  <a href={`${path}?new=${webhookId}`}>Continue the switch with it</a>
                </span>
              </p>
            ))}
            <section class="card stack">
              <h2>1. Register the URL again, with the new secret</h2>
              <p>
                Configure your receiver to accept both secrets first: a delivery is valid if its signature matches
                either. Once both endpoints are registered, each event arrives twice with the same id. Process it once.
              </p>
              <form class="stack narrow" method="post" action={path}>
                <SecretField label="New secret" />
                <Submit>Register the second endpoint</Submit>
              </form>
            </section>
          </>
        )}
      </>
    );
  },
});

/** Endpoints that may take over: those with the same URL that were registered later. */
function successorsOf(first: Endpoint, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.filter(({ url, webhookId }) => url === first.url && webhookId > first.webhookId);
}

interface SwitchProps extends Record<'first' | 'second', Endpoint> {
  health: HealthByEndpoint;
  alone: PendingAlone | undefined;
}

function BothReceive({ first, second, health, alone }: SwitchProps) {
  const receivers = [
    { secret: 'old', endpoint: first },
    { secret: 'new', endpoint: second },
  ].map(({ endpoint, ...rest }) => {
    const own = health.get(endpoint.webhookId);
    const receives = endpoint.enabled && (own?.lastSuccessAt ?? 0) >= new Date(second.created_at);
    return { ...rest, webhookId: endpoint.webhookId, own, receives };
  });
  const [firstReceives, secondReceives] = receivers.map(({ receives }) => receives);
  const both = firstReceives && secondReceives;
  const path = `${endpointPath(first.webhookId)}/new-secret`;
  return (
    <Live id="switch-over" class="stack" path={path} query={new URLSearchParams({ new: second.webhookId })}>
      <Card title="2. Wait until both have received">
        <Table
          rows={receivers}
          href={({ webhookId }) => endpointPath(webhookId)}
          columns={{
            Endpoint: ({ secret }) => `With the ${secret} secret`,
            'Since the switch': ({ receives }) => (
              <span class={receives ? 'badge good' : 'badge warn'}>{receives ? 'receives' : 'not yet'}</span>
            ),
            'Last success': ({ own }) => <LastSuccess health={own} />,
          }}
        />
        {!both && (
          <p class="muted">
            The next event is sent to both. You can leave this page: it finds the second endpoint again.
          </p>
        )}
      </Card>
      <Card title="3. Delete the first endpoint">
        {alone ? (
          <Waits alone={alone} second={second} />
        ) : (
          <>
            {both ? (
              <p>
                <strong>Both have received.</strong> Delete the first endpoint, then remove the old secret from your
                receiver.
              </p>
            ) : (
              <p class="banner warn">
                {!second.enabled
                  ? 'The second is disabled, so nothing would arrive.'
                  : secondReceives
                    ? 'The first has received nothing since the second was registered.'
                    : 'The second has not received anything yet. If your receiver rejects the new secret, nothing would arrive.'}
              </p>
            )}
            <PostButton
              action={`${path}/delete-first`}
              class={both ? 'primary' : 'danger'}
              fields={{ new: second.webhookId }}
            >
              {both ? 'Delete the first endpoint' : 'Delete the first endpoint anyway'}
            </PostButton>
          </>
        )}
      </Card>
    </Live>
  );
}

/** Why the first endpoint cannot be deleted yet, and what to do instead of waiting. */
function Waits({
  alone: { count, more, since, lastAttemptAt },
  second: { webhookId },
}: {
  alone: PendingAlone;
  second: Endpoint;
}) {
  const ends = lastAttemptAt > new Date() ? <Time at={lastAttemptAt} ago /> : 'now';
  return (
    <>
      <p class="banner warn">
        <span>
          <strong>{pendingAloneText({ count, more })}</strong> The second has no delivery of their events, and deleting
          the first cancels them.
        </span>
      </p>
      <p>
        Wait until there are none: this page then shows the button. If every attempt fails, the last is due{' '}
        {more && 'after '}
        {ends}.
      </p>
      <p>
        If you cannot wait,{' '}
        <a href={`${endpointPath(webhookId)}/statement?${new URLSearchParams({ since: timeValue(since) })}`}>
          recover them at the second endpoint
        </a>
        . It then receives every event since <Time at={since} /> that it has no delivery of. Your receiver recognises by
        their ids those that it already has.
      </p>
    </>
  );
}

/** `12 deliveries are pending at the first endpoint alone.` */
function pendingAloneText({ count, more }: Pick<PendingAlone, 'count' | 'more'>): string {
  const pending = countOf(count, 'delivery is pending', 'deliveries are pending', more).replace(/^m/, 'M');
  return `${pending} at the first endpoint alone.`;
}

const registerSecond = endpointForm('new-secret', newSecretPage, async (visit, fields) => {
  const { url, description, max_concurrency } = await readEndpoint(visit);
  const body = { url, description, max_concurrency, secret: fields.get('secret') ?? '' };
  const { webhookId } = await visit.operations.change<Endpoint>('registerWebhookEndpoint', { body });
  return seeOther(
    `${endpointPath(visit.params.webhookId)}/new-secret?new=${webhookId}`,
    'The second endpoint is registered. Both now receive every event.',
  );
});

const deleteFirst = endpointForm('new-secret/delete-first', newSecretPage, async (visit, fields) => {
  const [first, endpoints] = await Promise.all([readEndpoint(visit), readEndpoints(visit)]);
  const second = successorsOf(first, endpoints).find(({ webhookId }) => webhookId === fields.get('new'));
  // Without the second endpoint, deleting the first would stop all deliveries to this URL.
  if (!second) throw new Refusal('not_found', 'There is no second endpoint with this URL; register it first.');
  await visit.operations.change('deleteWebhookEndpoint', {
    params: { webhookId: first.webhookId },
    before: async (tx) => {
      const alone = await readPendingAlone(tx, first.webhookId, second.webhookId);
      if (alone) throw new Refusal('endpoint_changed', `${pendingAloneText(alone)} Wait until there are none.`);
    },
  });
  return seeOther(endpointPath(second.webhookId), 'The switch is complete: this endpoint signs with the new secret.');
});

export const newSecretPages = [newSecretPage, registerSecond, deleteFirst];
