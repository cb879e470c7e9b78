import { eventSubject } from '../../delivery/event-catalogue.js';
import { type DeliveryRecord, listDeliveries } from '../../reports/read-deliveries.js';
import { Table } from '../components/lists.js';
import { Live, PageHead } from '../components/parts.js';
import { countText, RelativeTime, Status, Untrusted } from '../components/values.js';
import { isEditor, mayMove, page, type Visit } from '../page.js';
import { outcomeText } from './delivery-texts.js';
import { type Endpoint, type HealthByEndpoint, healthOf, namesOf, readEndpoints } from './endpoints/endpoint.js';
import { EndpointTable } from './endpoints/health.js';
import { stateOf, Trouble } from './endpoints/state.js';
import { eventPath, MOVING_TRANSFER, REGISTER } from './paths.js';

export const overview = page({
  path: '/console',
  scope: 'webhooks:read',
  points: 5,
  title: 'Overview',
  navigation: 'Overview',
  async view(visit) {
    const endpoints = await readEndpoints(visit);
    if (endpoints.length === 0) return <FirstSteps visit={visit} />;
    const [health, recent] = await Promise.all([healthOf(visit), readRecent(visit)]);
    return <Overview visit={visit} endpoints={endpoints} health={health} recent={recent} />;
  },
});

const DAY = 86_400_000;
/** Deliveries of each status that are shown, and failed ones that are read to find those of the last day. */
const [SHOWN, READ] = [10, 50];

/** Deliveries that failed in the last day or are pending. Reads only events whose ladder may have ended within it. */
async function readRecent({ read, session, config }: Visit): Promise<DeliveryRecord[]> {
  const dayAgo = Date.now() - DAY;
  const createdAfter = dayAgo - config.retryDelays.reduce((sum, delay) => sum + delay, DAY);
  const list = (status: 'failed' | 'pending', take: number) =>
    read((db) => listDeliveries(db, session.clientId, { status, createdAfter, take }));
  const [failed, pending] = await Promise.all([list('failed', READ), list('pending', SHOWN)]);
  const ended = failed.filter(({ finishedAt }) => finishedAt === null || finishedAt.getTime() > dayAgo);
  return [...ended.slice(0, SHOWN), ...pending];
}

type Seen = Pick<Visit, 'session' | 'config'>;
interface Shown {
  visit: Seen;
  endpoints: readonly Endpoint[];
  health: HealthByEndpoint;
  /** Failed deliveries, then pending ones. */
  recent: readonly DeliveryRecord[];
}

/** Endpoints in trouble with the way out, the health of all, and what happened lately. */
export function Overview({ visit, endpoints, health, recent }: Shown) {
  const stateOfOne = (endpoint: Endpoint) => stateOf(endpoint, health.get(endpoint.webhookId));
  const troubled = endpoints.filter((endpoint) => ['disabled', 'failing'].includes(stateOfOne(endpoint)));
  const untried = endpoints.filter((endpoint) => stateOfOne(endpoint) === 'untried');
  const names = namesOf(endpoints);
  const allWork = troubled.length + untried.length === 0;
  return (
    <>
      <PageHead title="Overview" button={isEditor(visit) && REGISTER} />
      <Live id="overview" class="stack" path="/console">
        <p class={allWork ? 'good-text' : undefined}>
          <strong>{summaryOf(endpoints.length, troubled.length, untried.length)}</strong>{' '}
          {untried.length > 0 && mayMove(visit) && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
        </p>
        {troubled.map((endpoint) => {
          const { webhookId } = endpoint;
          const shown = { endpoint, health: health.get(webhookId), name: names.get(webhookId) };
          return <Trouble key={webhookId} {...shown} editor={isEditor(visit)} />;
        })}
        <EndpointTable endpoints={endpoints} health={health} />
        <Recent deliveries={recent} names={names} />
      </Live>
    </>
  );
}

/** Failed and pending deliveries with their reasons. */
function Recent({ deliveries, names }: { deliveries: Shown['recent']; names: ReadonlyMap<string, string> }) {
  return (
    <section class="stack" aria-label="Last 24 hours">
      <div class="row between">
        <h2>Last 24 hours</h2>
        <span class="row">
          <a href="/console/deliveries?status=failed">All failed</a>
          <a href="/console/deliveries?status=pending">All pending</a>
        </span>
      </div>
      {deliveries.length === 0 ? (
        <p class="muted">No delivery failed, and none is pending.</p>
      ) : (
        <Table<DeliveryRecord>
          rows={deliveries}
          row={({ id, status }) => ({ id: `recent-${id}`, 'data-announce': `${status} delivery` })}
          href={({ id, eventId }) => eventPath(eventId, id)}
          columns={{
            Event: ({ event }) => eventSubject(event.type, event.body),
            Endpoint: ({ endpointId, endpoint }) => (
              <Untrusted text={names.get(endpointId) ?? (endpoint.description || endpoint.url)} />
            ),
            Status: ({ status, nextAttemptAt, finishedAt }) => (
              <span class="one-line">
                <Status status={status} />
                <span class="muted">
                  {nextAttemptAt && (nextAttemptAt > new Date() ? 'next ' : 'due ')}
                  {(nextAttemptAt ?? finishedAt) && <RelativeTime at={nextAttemptAt ?? finishedAt ?? ''} />}
                </span>
              </span>
            ),
            Reason: ({ lastAttempt }) => (lastAttempt ? outcomeText(lastAttempt) : 'No attempt yet'),
            Attempts: ({ attemptCount }) => countText(attemptCount),
          }}
          classes={{ Attempts: 'right' }}
        />
      )}
    </section>
  );
}

function summaryOf(endpoints: number, troubled: number, untried: number): string {
  if (troubled > 0) {
    if (endpoints === 1) return 'Your endpoint needs your attention.';
    return `${troubled} of ${endpoints} endpoints ${troubled === 1 ? 'needs' : 'need'} your attention.`;
  }
  if (untried > 0) {
    return endpoints === 1
      ? 'Your endpoint is ready.'
      : `No endpoint needs your attention. ${untried} of ${endpoints} have received nothing yet.`;
  }
  return endpoints === 1 ? 'Your endpoint works.' : `All ${endpoints} endpoints work.`;
}

/** The first steps of a newcomer. */
export function FirstSteps({ visit }: { visit: Seen }) {
  const sandbox = visit.config.environment === 'sandbox';
  return (
    <>
      <h1>Overview</h1>
      <section class="card stack">
        <h2>See your first webhook in two steps</h2>
        <ol>
          <li>
            <strong>Register an endpoint:</strong> the URL of your receiver, and the secret that signs your deliveries.
          </li>
          <li>
            <strong>Make a {sandbox ? 'sandbox transfer' : 'transfer'}</strong>
            {sandbox && ' that completes on its own'}: each change of its status is an event, which is delivered to your
            endpoint at once.
          </li>
        </ol>
        {isEditor(visit) ? (
          <p class="row">
            <a class="button primary" href={REGISTER.href}>
              {REGISTER.text}
            </a>
            {sandbox && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
          </p>
        ) : (
          <p class="muted">Your session is view only. An editor registers the endpoint.</p>
        )}
      </section>
    </>
  );
}
