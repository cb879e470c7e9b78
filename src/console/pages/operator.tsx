import { ALL_CLIENTS } from '../../endpoints/hours.js';
import { readAttemptSeries } from '../../reports/attempt-series.js';
import { type ClientOverview, readClientOverviews, SHOWN_CLIENTS } from '../../reports/operator-overview.js';
import { Empty, Table } from '../components/lists.js';
import { Card, Live } from '../components/parts.js';
import { AttemptPlot, periodOf } from '../components/plot.js';
import { CauseBars } from '../components/small-plots.js';
import { countText, Id, RelativeTime, rateText, Untrusted } from '../components/values.js';
import { page } from '../page.js';
import { clientPath } from './operator-clients.js';

const PATH = '/console/operator';

/** `/console/operator`: all clients, for a session of a client with the scope `operator`. */
export const operatorPage = page({
  path: PATH,
  scope: 'operator',
  points: 10,
  title: 'All clients',
  hasRows: true,
  navigation: 'All clients',
  async view({ read, query }) {
    const period = periodOf(query);
    const [{ steps, causes }, clients] = await read(async (db) => [
      await readAttemptSeries(db, ALL_CLIENTS, period),
      await readClientOverviews(db),
    ]);
    const sum = (name: 'endpoints' | 'disabled' | 'failing') => clients.reduce((total, one) => total + one[name], 0);
    return (
      <Live id="operator" class="stack" path={PATH} query={query}>
        <h1>All clients</h1>
        <p>
          <strong>
            {countText(sum('failing'))} failing and {countText(sum('disabled'))} disabled endpoints of{' '}
            {countText(sum('endpoints'))}
          </strong>
        </p>
        <AttemptPlot path={PATH} period={period} steps={steps} />
        {Object.keys(causes).length > 0 && (
          <Card title="Failed attempts by cause">
            <CauseBars causes={causes} />
          </Card>
        )}
        {clients.length === 0 ? (
          <Empty title="No client has an endpoint yet" />
        ) : (
          <Table<ClientOverview>
            id="rows"
            rows={clients}
            row={({ id, failing, disabled }) => ({
              id: `client-${id}`,
              'data-announce': `${failing} failing, ${disabled} disabled endpoints`,
            })}
            columns={{
              Client: ({ id, name }) => (
                <a href={clientPath(id)}>
                  <Untrusted text={name} />
                </a>
              ),
              'Success, 24 h': ({ succeeded, failed }) =>
                succeeded + failed === 0
                  ? '–'
                  : `${rateText(succeeded, succeeded + failed)} of ${countText(succeeded + failed)}`,
              'Last success': ({ lastSuccessAt }) => (lastSuccessAt ? <RelativeTime at={lastSuccessAt} /> : '–'),
              Pending: ({ pending }) => countText(pending),
              Endpoints: ({ endpoints }) => countText(endpoints),
              Failing: ({ failing }) => <Trouble count={failing} tone="warn" />,
              Disabled: ({ disabled }) => <Trouble count={disabled} tone="bad" />,
              Id: ({ id }) => <Id id={id} />,
            }}
          />
        )}
        <p class="hint">
          The {SHOWN_CLIENTS} clients with the lowest success rates. Of each endpoint, at most 100 pending deliveries
          are counted.
        </p>
        <p>
          <a href="/console/operator/clients">All clients by name, and their public keys</a>
        </p>
        <Card title="What to do">
          <ul class="plain">
            <li>
              A client's receiver fails: <code>endpoints list --failing --client ID</code>, then the runbook, “A client
              reports missing deliveries”
            </li>
            <li>
              An endpoint is disabled: <code>endpoints enable ID</code> for one that the operator disabled; clients
              enable the others
            </li>
            <li>
              The receiver works again:{' '}
              <code>endpoints recover ID --since 24h --include-missing --include-pending</code>, the runbook's “Retry
              and recover deliveries”
            </li>
            <li>
              Nothing arrives anywhere: the runbook's “NothingArrives” and <code>doctor</code>
            </li>
          </ul>
        </Card>
      </Live>
    );
  },
});

function Trouble({ count, tone }: { count: number; tone: 'warn' | 'bad' }) {
  return count === 0 ? <>0</> : <span class={`badge ${tone}`}>{countText(count)}</span>;
}
