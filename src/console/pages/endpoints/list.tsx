import { Live } from '../../components/live.js';
import { RelativeTime } from '../../components/time.js';
import { page } from '../../page.js';
import { type Endpoint, isEditor, isFailing, pathOf, READ, readEndpoints } from './endpoint.js';
import { type HealthByEndpoint, healthOf } from './health.js';
import { EndpointName, EndpointState } from './name.js';

export const endpointList = page({
  path: '/console/endpoints',
  scope: READ,
  points: 3,
  title: 'Endpoints',
  navigation: 'Endpoints',
  async view(visit) {
    const [endpoints, health] = await Promise.all([readEndpoints(visit), healthOf(visit)]);
    return (
      <EndpointList
        endpoints={endpoints}
        health={health}
        editor={isEditor(visit)}
        most={visit.config.maxEndpoints}
        now={new Date()}
      />
    );
  },
});

interface Props {
  endpoints: readonly Endpoint[];
  health: HealthByEndpoint;
  editor: boolean;
  /** Endpoints that a client may have. */
  most: number;
  now: Date;
}

export function EndpointList({ endpoints, health, editor, most, now }: Props) {
  return (
    <>
      <div class="page-head">
        <h1>Endpoints</h1>
        {editor && (
          <a class="button primary" href="/console/endpoints/new">
            Register an endpoint
          </a>
        )}
      </div>
      {endpoints.length === 0 ? (
        <p class="card muted">No endpoint is registered. An endpoint is a URL of yours to which events are sent.</p>
      ) : (
        <Live id="endpoints" class="card table-card" path="/console/endpoints">
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Endpoint</th>
                <th scope="col">State</th>
                <th scope="col">Last success</th>
                <th scope="col">Registered</th>
                <th scope="col">
                  <span class="visually-hidden">Its page</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {endpoints.map((endpoint) => (
                <Row key={endpoint.webhookId} endpoint={endpoint} health={health} now={now} />
              ))}
            </tbody>
          </table>
        </Live>
      )}
      <p class="muted">
        {endpoints.length} of at most {most} endpoints.
      </p>
    </>
  );
}

function Row({ endpoint, health, now }: { endpoint: Endpoint; health: HealthByEndpoint; now: Date }) {
  const { webhookId } = endpoint;
  const own = health.get(webhookId);
  return (
    <tr>
      <td data-label="Endpoint">
        <EndpointName endpoint={endpoint} />
      </td>
      <td data-label="State">
        <EndpointState endpoint={endpoint} failing={isFailing(endpoint, own)} />
      </td>
      <td data-label="Last success">
        {own?.lastSuccessAt ? <RelativeTime at={own.lastSuccessAt.toISOString()} now={now} /> : 'none yet'}
      </td>
      <td data-label="Registered">
        <RelativeTime at={endpoint.created_at} now={now} />
      </td>
      <td data-label="Its page">
        <a href={pathOf(webhookId)} aria-label={`Open endpoint ${webhookId}`}>
          Open
        </a>
      </td>
    </tr>
  );
}
