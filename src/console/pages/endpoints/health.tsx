import type { EndpointHealth } from '../../../endpoints/health.js';
import { listDeliveries } from '../../../reports/read-deliveries.js';
import { Empty, Table } from '../../components/lists.js';
import { Card, Facts, Live, PageHead } from '../../components/parts.js';
import { countOf, countText, durationText, Id, RelativeTime, Time, Untrusted } from '../../components/values.js';
import { isEditor, mayMove, page, seeOther } from '../../page.js';
import { DeliveryTable } from '../deliveries.js';
import { endpointPath, REGISTER } from '../paths.js';
import {
  changeEndpoint,
  type Endpoint,
  endpointForm,
  endpointPage,
  type HealthByEndpoint,
  healthOf,
  namesOf,
  readEndpoints,
} from './endpoint.js';
import { EndpointState, Trouble, Untried } from './state.js';
import { missedSince } from './statement.js';

export const endpointList = page({
  path: '/console/endpoints',
  scope: 'webhooks:read',
  points: 3,
  title: 'Endpoints',
  navigation: 'Endpoints',
  async view(visit) {
    const [endpoints, health] = await Promise.all([readEndpoints(visit), healthOf(visit)]);
    return (
      <>
        <PageHead title="Endpoints" button={isEditor(visit) && REGISTER} />
        {endpoints.length === 0 ? (
          <Empty title="No endpoints yet">
            <p>An endpoint is the URL of your receiver, to which every event is delivered.</p>
            {isEditor(visit) && <a href={REGISTER.href}>{REGISTER.text}</a>}
          </Empty>
        ) : (
          <Live id="endpoints" path="/console/endpoints">
            <EndpointTable endpoints={endpoints} health={health} />
          </Live>
        )}
        <p class="hint">
          {endpoints.length} of at most {visit.session.maxEndpoints ?? visit.config.maxEndpoints} endpoints.
        </p>
      </>
    );
  },
});

interface TableProps {
  endpoints: readonly Endpoint[];
  health: HealthByEndpoint;
}

/** Endpoints with their last 24 h, on the list and on the overview. */
export function EndpointTable({ endpoints, health }: TableProps) {
  const names = namesOf(endpoints);
  return (
    <Table
      rows={endpoints.map((endpoint) => ({ endpoint, own: health.get(endpoint.webhookId) }))}
      href={({ endpoint }) => endpointPath(endpoint.webhookId)}
      classes={{ 'Last 24 h': 'wide-only', 'Success rate': 'right', p95: 'right', Pending: 'right' }}
      columns={{
        Endpoint: ({ endpoint: { webhookId, description, url } }) => (
          <span>
            <strong>
              <Untrusted text={names.get(webhookId) ?? url} />
            </strong>
            {description && (
              <code class="muted">
                <Untrusted text={url} />
              </code>
            )}
          </span>
        ),
        State: ({ endpoint, own }) => <EndpointState endpoint={endpoint} health={own} />,
        'Last 24 h': ({ own }) => own && <Sparkline hours={own.hours} />,
        'Success rate': ({ own }) => own && <Rate {...own} />,
        p95: ({ own }) => (own?.answerTime ? durationText(own.answerTime.p95) : '–'),
        Pending: ({ own }) => own && countText(own.pending.count) + (own.pending.more ? '+' : ''),
        'Last success': ({ own }) => <LastSuccess health={own} />,
      }}
    />
  );
}

/** Deliveries on the page; the list of deliveries has the others. */
const LATEST = 10;

const healthPage = endpointPage('', {
  points: 5,
  async view({ visit, endpoint, health, path }) {
    const { session } = visit;
    const { webhookId } = visit.params;
    const deliveries = await visit.read((db) =>
      listDeliveries(db, session.clientId, { endpointId: webhookId, take: LATEST }),
    );
    const editor = isEditor(visit);
    const { created_at, updated_at, max_concurrency, enabled } = endpoint;
    return (
      <Live id="endpoint" class="stack" path={path}>
        <Trouble endpoint={endpoint} health={health} editor={editor} />
        <section class="card stack" aria-label="Health">
          <HealthView health={health} />
        </section>
        <section class="stack" aria-label="Latest deliveries">
          <div class="row between">
            <h2>Latest deliveries</h2>
            {deliveries.length > 0 && <a href={`/console/deliveries?endpoint=${webhookId}`}>All deliveries</a>}
          </div>
          {deliveries.length > 0 ? (
            <DeliveryTable visit={visit} deliveries={deliveries} />
          ) : (
            <Empty title="No deliveries yet">
              <p>
                <Untried makesTransfers={mayMove(visit)} />
              </p>
            </Empty>
          )}
        </section>
        <Card title="About this endpoint">
          <Facts
            of={{
              Id: <Id id={webhookId} whole />,
              Registered: <Time at={created_at} ago />,
              'Last changed': <Time at={updated_at} ago />,
              'Concurrent deliveries': max_concurrency !== null && `at most ${max_concurrency}`,
              Secret: <span class="muted">stored encrypted, never shown</span>,
            }}
          />
          {editor && enabled && (
            <p>
              <a class="button" href={`${path}/disable`}>
                Disable
              </a>
            </p>
          )}
        </Card>
      </Live>
    );
  },
});

/** Enabling leads to the recovery of what was missed, with its count. */
const enable = endpointForm('enable', healthPage, async (visit) => {
  const { webhookId } = visit.params;
  const health = (await healthOf(visit)).get(webhookId);
  const endpoint = await changeEndpoint(visit, { enabled: true });
  const since = missedSince(endpoint, health, visit.config.retention);
  return seeOther(
    `${endpointPath(webhookId)}/statement?since=${encodeURIComponent(since)}`,
    'The endpoint is enabled. Below is what it missed.',
  );
});

export const endpointPages = [healthPage, enable];

/** An endpoint's last 24 h: success rate, response times, attempts by the hour, the last success and pending deliveries. */
function HealthView({ health }: { health: EndpointHealth | undefined }) {
  if (!health) return <p class="muted">Its health is not known.</p>;
  const { hours, succeeded, failed, answerTime, pending } = health;
  const attempts = succeeded + failed;
  return (
    <>
      <div class="health">
        <figure>
          <Sparkline hours={hours} />
          <figcaption class="hint">Attempts by the hour, last 24 h</figcaption>
        </figure>
        <Facts
          class="stats"
          of={{
            'Success rate': (
              <>
                <strong>
                  <Rate {...health} />
                </strong>{' '}
                <span class="hint">of {countOf(attempts, 'attempt', 'attempts')}</span>
              </>
            ),
            'Response p95': (
              <>
                <strong>{answerTime ? durationText(answerTime.p95) : '–'}</strong>{' '}
                {answerTime && <span class="hint">p50 {durationText(answerTime.p50)}</span>}
              </>
            ),
            Pending: (
              <>
                <strong>
                  {pending.more && 'more than '}
                  {countText(pending.count)}
                </strong>
                {pending.count > 0 && pending.nextAttemptAt && (
                  <span class="hint">
                    {' '}
                    next {pending.nextAttemptAt > new Date() ? <RelativeTime at={pending.nextAttemptAt} /> : 'now'}
                  </span>
                )}
              </>
            ),
            'Last success': (
              <strong>
                <LastSuccess health={health} />
              </strong>
            ),
          }}
        />
      </div>
      <details>
        <summary>The numbers of each hour</summary>
        <Table
          rows={hours.toReversed()}
          columns={{
            'Hour (UTC)': ({ start }) => start.toISOString().slice(0, 16).replace('T', ' '),
            Succeeded: ({ succeeded }) => countText(succeeded),
            Failed: ({ failed }) => countText(failed),
          }}
        />
      </details>
    </>
  );
}

/** The success rate, which is red unless it is 100 %. */
function Rate({ succeeded, failed }: Pick<EndpointHealth, 'succeeded' | 'failed'>) {
  return <span class={failed > 0 ? 'bad-text' : undefined}>{rateText(succeeded, succeeded + failed)}</span>;
}

/** The share of successes in per cent; 100 % only if all succeeded, 0 % only if none did. */
export function rateText(succeeded: number, attempts: number): string {
  if (attempts === 0) return '–';
  const tenths = Math.round((succeeded / attempts) * 1_000);
  const bounded = succeeded === attempts ? 1_000 : succeeded === 0 ? 0 : Math.min(999, Math.max(1, tenths));
  return `${bounded / 10} %`;
}

export function LastSuccess({ health }: { health: EndpointHealth | undefined }) {
  return health?.lastSuccessAt ? <RelativeTime at={health.lastSuccessAt} /> : <>none yet</>;
}

type Hours = EndpointHealth['hours'];

const BAR = 7;
const STEP = 9;
const HEIGHT = 40;
/** A failure stays visible next to any number of successes. */
const LEAST = 3;

/**
 * The attempts of each hour as bars: failed ones on top of succeeded ones. The label has the numbers, so that nothing
 * depends on colours.
 */
export function Sparkline({ hours }: { hours: Hours }) {
  const most = Math.max(1, ...hours.map(({ succeeded, failed }) => succeeded + failed));
  const width = hours.length * STEP - (STEP - BAR);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${HEIGHT + 2}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={labelOf(hours)}
    >
      {hours.map((hour, i) => (
        <Bar key={hour.start.getTime()} hour={hour} most={most} x={i * STEP} />
      ))}
    </svg>
  );
}

function Bar({ hour, most, x }: { hour: Hours[number]; most: number; x: number }) {
  const [good, bad] = [heightOf(hour.succeeded, most), heightOf(hour.failed, most)];
  // If both do not fit, the larger part shrinks.
  const excess = Math.max(0, good + bad - HEIGHT);
  const [goodHeight, badHeight] = good > bad ? [good - excess, bad] : [good, bad - excess];
  return (
    <g>
      <title>{hourText(hour)}</title>
      <rect x={x} y={HEIGHT} width={BAR} height={2} />
      {good > 0 && <rect class="good" x={x} y={HEIGHT - goodHeight} width={BAR} height={goodHeight} />}
      {bad > 0 && <rect class="bad" x={x} y={HEIGHT - goodHeight - badHeight} width={BAR} height={badHeight} />}
    </g>
  );
}

const heightOf = (count: number, most: number) =>
  count === 0 ? 0 : Math.max(LEAST, Math.round((count / most) * HEIGHT));

/** `06:00 UTC: 12 succeeded, 1 failed` */
function hourText({ start, succeeded, failed }: Hours[number]): string {
  return `${start.toISOString().slice(11, 16)} UTC: ${succeeded} succeeded, ${failed} failed`;
}

function labelOf(hours: Hours): string {
  const sum = (part: 'succeeded' | 'failed') => hours.reduce((total, hour) => total + hour[part], 0);
  const [first] = hours;
  const since = first ? ` since ${first.start.toISOString().slice(11, 16)} UTC` : '';
  return `Attempts by the hour${since}: ${sum('succeeded')} succeeded, ${sum('failed')} failed`;
}
