import { Refusal } from '../../../refusal.js';
import type { EndpointHealth } from '../../../webhooks/endpoint-health.js';
import { Live } from '../../components/live.js';
import { RelativeTime } from '../../components/time.js';
import { form, page, seeOther, type Visit } from '../../page.js';
import { type Endpoint, pathOf, readEndpoint, readEndpoints, WRITE } from './endpoint.js';
import { SecretField } from './form.js';
import { EndpointHead } from './head.js';
import { type HealthByEndpoint, healthOf } from './health.js';
import { EndpointName } from './name.js';

type EndpointVisit = Visit<'webhookId'>;

/**
 * The switch-over to a new secret (spec §5, Secret rotation) as three steps. The endpoints are its only state: `new` in
 * the query names the second endpoint, and without it the page finds later endpoints with the same URL.
 */
const newSecretPage = page({
  path: '/console/endpoints/{webhookId}/new-secret',
  scope: WRITE,
  points: 4,
  title: 'Switch over to a new secret',
  async view(visit) {
    const [endpoint, endpoints] = await Promise.all([readEndpoint(visit), readEndpoints(visit)]);
    const successors = successorsOf(endpoint, endpoints);
    const second = successors.find(({ webhookId }) => webhookId === visit.query.get('new'));
    return (
      <>
        <EndpointHead endpoint={endpoint} here="new-secret" visit={visit} />
        <p>
          A secret cannot be changed in place. A second endpoint with the same URL and the new secret takes over, so
          that no event is lost and your receiver is never without a valid signature.
        </p>
        {second ? (
          <BothReceive first={endpoint} second={second} health={await healthOf(visit)} now={new Date()} />
        ) : (
          <RegisterSecond visit={visit} endpoint={endpoint} successors={successors} />
        )}
      </>
    );
  },
});

/** Endpoints that may take over: the same URL, registered later. */
function successorsOf(first: Endpoint, endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.filter(({ url, webhookId }) => url === first.url && webhookId > first.webhookId);
}

/** The steps, with the present step marked. */
function Steps({ here }: { here: 1 | 2 | 3 }) {
  const steps = ['Register the new secret', 'Both receive', 'Delete the first'];
  return (
    <ol class="steps" aria-label="Steps">
      {steps.map((name, i) => (
        <li key={name} class={i + 1 < here ? 'done' : undefined} aria-current={i + 1 === here ? 'step' : undefined}>
          {name}
        </li>
      ))}
    </ol>
  );
}

interface RegisterProps {
  visit: EndpointVisit;
  endpoint: Endpoint;
  successors: readonly Endpoint[];
}

function RegisterSecond({ visit, endpoint, successors }: RegisterProps) {
  const path = `${pathOf(endpoint.webhookId)}/new-secret`;
  const now = new Date();
  return (
    <>
      <Steps here={1} />
      {successors.map(({ webhookId, created_at }) => (
        <p class="notice" key={webhookId}>
          An endpoint with this URL was registered <RelativeTime at={created_at} now={now} />.{' '}
          <a href={`${path}?new=${webhookId}`}>Continue the switch-over with it</a>
        </p>
      ))}
      <section class="card stack">
        <h2>1. Register the URL again, with the new secret</h2>
        <p>
          First teach your receiver both secrets: it accepts a delivery whose signature fits either of them. From the
          registration on each event arrives twice, with the same id; it is processed once.
        </p>
        <form method="post" action={path}>
          <SecretField label="New secret" refused={visit.refused} />
          <button type="submit" class="primary">
            Register the second endpoint
          </button>
        </form>
      </section>
    </>
  );
}

interface BothProps {
  first: Endpoint;
  second: Endpoint;
  health: HealthByEndpoint;
  now: Date;
}

function BothReceive({ first, second, health, now }: BothProps) {
  const since = new Date(second.created_at);
  const receives = ({ webhookId }: Endpoint) => succeededSince(health.get(webhookId), since);
  const both = receives(first) && receives(second);
  const path = pathOf(first.webhookId);
  return (
    <Live
      id="switch-over"
      class="stack"
      path={`${path}/new-secret`}
      query={new URLSearchParams({ new: second.webhookId })}
    >
      <Steps here={both ? 3 : 2} />
      <section class="card stack" aria-label="Both receive">
        <h2>2. Wait until both have received</h2>
        <div class="switch-pair">
          <Receiver title="First, old secret" endpoint={first} health={health} since={since} now={now} />
          <Receiver title="Second, new secret" endpoint={second} health={health} since={since} now={now} />
        </div>
        {!both && (
          <p class="muted">
            The next event is sent to both. You may leave this page and come back: it finds the second endpoint again.
          </p>
        )}
      </section>
      <section class="card stack" aria-label="Delete the first">
        <h2>3. Delete the first endpoint</h2>
        {both ? (
          <p>
            <strong>Both have received.</strong> Delete the first endpoint, then take the old secret out of your
            receiver.
          </p>
        ) : (
          <p class="caution">
            {receives(second)
              ? 'The first has received nothing since the second was registered.'
              : 'The second has not received yet: if your receiver refuses the new secret, nothing would arrive.'}
          </p>
        )}
        <form class="inline" method="post" action={`${path}/new-secret/delete-first`}>
          <input type="hidden" name="new" value={second.webhookId} />
          <button type="submit" class={both ? 'primary' : 'danger'}>
            {both ? 'Delete the first endpoint' : 'Delete the first endpoint anyway'}
          </button>
        </form>
      </section>
    </Live>
  );
}

function succeededSince(health: EndpointHealth | undefined, since: Date): boolean {
  return !!health?.lastSuccessAt && health.lastSuccessAt >= since;
}

interface ReceiverProps {
  title: string;
  endpoint: Endpoint;
  health: HealthByEndpoint;
  since: Date;
  now: Date;
}

function Receiver({ title, endpoint, health, since, now }: ReceiverProps) {
  const own = health.get(endpoint.webhookId);
  const receives = succeededSince(own, since);
  return (
    <div class="switch-pair-member">
      <h3>{title}</h3>
      <EndpointName endpoint={endpoint} />
      <p>
        <span class={receives ? 'badge good' : 'badge warn'}>{receives ? 'receives' : 'not yet'}</span>{' '}
        {own?.lastSuccessAt ? (
          <>
            latest success <RelativeTime at={own.lastSuccessAt.toISOString()} now={now} />
          </>
        ) : (
          'no success yet'
        )}
      </p>
      <p>
        <a href={pathOf(endpoint.webhookId)} aria-label={`Open endpoint ${endpoint.webhookId}`}>
          Open
        </a>
      </p>
    </div>
  );
}

const registerSecond = form({
  path: '/console/endpoints/{webhookId}/new-secret',
  scope: WRITE,
  page: newSecretPage,
  async submit(visit, fields) {
    const { url, description, max_concurrency } = await readEndpoint(visit);
    const body = { url, description, max_concurrency, secret: fields.get('secret') ?? '' };
    const { webhookId } = await visit.operations.change<Endpoint>('registerWebhookEndpoint', { body });
    return seeOther(
      `${pathOf(visit.params.webhookId)}/new-secret?new=${webhookId}`,
      'The second endpoint is registered. From now on both get every event.',
    );
  },
});

const deleteFirst = form({
  path: '/console/endpoints/{webhookId}/new-secret/delete-first',
  scope: WRITE,
  page: newSecretPage,
  async submit(visit, fields) {
    const [first, endpoints] = await Promise.all([readEndpoint(visit), readEndpoints(visit)]);
    const second = successorsOf(first, endpoints).find(({ webhookId }) => webhookId === fields.get('new'));
    // Without the second endpoint, deleting the first would end all deliveries to this URL.
    if (!second) throw new Refusal('not_found', 'There is no second endpoint with this URL; register it first.');
    await visit.operations.change('deleteWebhookEndpoint', { params: { webhookId: first.webhookId } });
    return seeOther(pathOf(second.webhookId), 'The switch-over is complete: this endpoint signs with the new secret.');
  },
});

export const newSecretPages = [newSecretPage, registerSecond, deleteFirst];
