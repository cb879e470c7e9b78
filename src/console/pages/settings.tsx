import { endSession, type ListedSession, listSessions } from '../../auth/console-sessions.js';
import { MAX_BODY_BYTES } from '../../http/body.js';
import { presentMeta } from '../../http/schemas/meta.js';
import { LIMITS } from '../../platform/limits.js';
import { Table } from '../components/lists.js';
import { Card, Facts, PostButton } from '../components/parts.js';
import { durationText, Id, RelativeTime, Time, Untrusted } from '../components/values.js';
import { form, page, seeOther, type Visit } from '../page.js';

const WAYS = { credentials: 'credentials', link: 'a link of the client', 'operator-link': 'a link of the operator' };

const settings = page({
  path: '/console/settings',
  scope: null,
  points: 2,
  title: 'Settings',
  navigation: 'Settings',
  async view({ session, config, read }) {
    const sessions = await read((db) => listSessions(db, session.clientId));
    return (
      <>
        <h1>Settings</h1>
        <div class="columns">
          <Connection config={config} session={session} />
          <Limits config={config} session={session} />
        </div>
        <section class="stack" aria-label="Sessions">
          <h2>Sessions of this client</h2>
          <p class="muted">A session ends after an hour without use, and 8 hours after the sign-in.</p>
          <Table
            rows={sessions}
            columns={{
              Role: ({ role }) => role,
              'Signed in by': ({ signedInBy }) => WAYS[signedInBy],
              Address: ({ address }) => <code>{address}</code>,
              Since: ({ createdAt }) => <Time at={createdAt} />,
              'Last seen': ({ lastSeenAt }) => <RelativeTime at={lastSeenAt} />,
              Action: (one) => <End session={one} own={session} />,
            }}
          />
        </section>
      </>
    );
  },
});

const end = form({
  path: '/console/sessions/{id}/end',
  scope: null,
  page: settings,
  async submit({ session, params, db }) {
    await endSession(db, session, params.id);
    return seeOther('/console/settings', 'The session is ended.');
  },
});

export const settingsPages = [settings, end];

/** What a client's system needs before its first request. */
function Connection({ config, session }: Pick<Visit, 'config' | 'session'>) {
  const meta = presentMeta(config);
  return (
    <Card title="Client and environment">
      <Facts
        of={{
          Client: <Untrusted text={session.clientName} />,
          'Client id': <Id id={session.clientId} whole />,
          'Your role': session.role,
          'Scopes of your session': [...session.scopes].join(' ') || 'none',
          Environment: meta.environment,
          'Base URL and audience': <code>{config.baseUrl}</code>,
          'Token URL': <code>{config.authUrl}/oauth/token</code>,
          'Deliveries come from':
            meta.egress_addresses.length === 0
              ? 'No addresses are published by the operator.'
              : meta.egress_addresses.map((network) => (
                  <div key={network}>
                    <code>{network}</code>
                  </div>
                )),
          'Event version': meta.event_version,
          'Service version': meta.version,
          'API reference': <a href={`${config.baseUrl}/docs`}>{config.baseUrl}/docs</a>,
        }}
      />
    </Card>
  );
}

function Limits({ config, session }: Pick<Visit, 'config' | 'session'>) {
  const { disableAfter, retention, endpointConcurrency, retryDelays } = config;
  const delays = retryDelays.map((delay) => (delay === 0 ? 'immediately' : durationText(delay)));
  const all = retryDelays.reduce((sum, delay) => sum + delay, 0);
  return (
    <Card title="Limits">
      <Facts
        of={{
          Requests: `${session.rateLimit ?? config.rateLimit} per second, API and console together (a console page counts as 2 to 10)`,
          'Request body': `${MAX_BODY_BYTES / 1024} KiB`,
          'Webhook endpoints': session.maxEndpoints ?? config.maxEndpoints,
          'Concurrent deliveries': `${endpointConcurrency} to an endpoint without its own limit`,
          'Automatic retries': `${delays.join(', ')} after the previous attempt; ${durationText(all)} in all`,
          'Manual retries': `${LIMITS.retries.amount} an hour for a delivery`,
          Recoveries: `${LIMITS.recoveries.amount} an hour for an endpoint`,
          'Failing endpoint':
            disableAfter === 0
              ? 'Never disabled'
              : `Disabled after ${durationText(disableAfter)} without a success, if at least two deliveries are exhausted`,
          'Events are kept': durationText(retention),
        }}
      />
    </Card>
  );
}

/** Ends a session that the reader may end. */
function End({ session, own }: { session: ListedSession; own: Visit['session'] }) {
  if (session.id === own.id) return <span class="badge good">this session</span>;
  if (own.role === 'viewer') return null;
  return (
    <PostButton action={`/console/sessions/${session.id}/end`} class="danger">
      End<span class="visually-hidden"> the session from {session.address}</span>
    </PostButton>
  );
}
