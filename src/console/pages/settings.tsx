import { endSession, type ListedSession, listSessions } from '../../auth/console-sessions.js';
import { MAX_BODY_BYTES } from '../../http/body.js';
import { presentMeta } from '../../http/routes/documents.js';
import type { Config } from '../../platform/config/config.js';
import { formatDuration } from '../../platform/duration.js';
import { LIMITS } from '../../platform/limits.js';
import { PostButton } from '../components/forms.js';
import { Table } from '../components/lists.js';
import { Card, Facts } from '../components/parts.js';
import { RelativeTime, Time, Untrusted } from '../components/values.js';
import { form, page, seeOther, type Visit } from '../page.js';

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
          <Environment config={config} />
          <Card title="Client">
            <Facts
              of={{
                Name: <Untrusted text={session.clientName} />,
                'Client id': <code>{session.clientId}</code>,
                'Your role': session.role,
                'Scopes of your session': [...session.scopes].join(' ') || 'none',
              }}
            />
          </Card>
          <Ladder delays={config.retryDelays} />
          <Limits config={config} />
        </div>
        <Sessions sessions={sessions} own={session} />
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
function Environment({ config }: { config: Config }) {
  const meta = presentMeta(config);
  return (
    <Card title="Environment">
      <Facts
        of={{
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

/** The planned attempts of a delivery if each fails at once. */
function Ladder({ delays }: { delays: readonly number[] }) {
  const rows = [0, ...delays].map((delay, index) => ({
    number: index + 1,
    delay,
    after: delays.slice(0, index).reduce((sum, each) => sum + each, 0),
  }));
  return (
    <Card title="Attempts of a delivery" table>
      <p class="muted">
        Each delay starts at the end of the previous attempt. A delivery keeps the delays that it started with.
      </p>
      <Table
        small
        rows={rows}
        columns={[
          { heading: 'Attempt', cell: ({ number }) => number },
          { heading: 'Delay', cell: ({ delay }) => (delay === 0 ? 'immediate' : formatDuration(delay, 'h')) },
          { heading: 'After the first', cell: ({ number, after }) => (number === 1 ? '–' : inHours(after)) },
        ]}
      />
    </Card>
  );
}

function Limits({ config }: { config: Config }) {
  const { disableAfter, retention, rateLimit, maxEndpoints, endpointConcurrency } = config;
  return (
    <Card title="Limits">
      <Facts
        of={{
          Requests: `${rateLimit} a second for API and console together; a page of the console counts as 2 to 10`,
          'Request body': `${MAX_BODY_BYTES / 1024} KiB`,
          'Webhook endpoints': maxEndpoints,
          'Concurrent deliveries': `${endpointConcurrency} to an endpoint without its own limit`,
          'Manual retries': `${LIMITS.retries.amount} an hour for a delivery`,
          Recoveries: `${LIMITS.recoveries.amount} an hour for an endpoint`,
          'Failing endpoint':
            disableAfter === 0
              ? 'Never disabled'
              : `Disabled after ${formatDuration(disableAfter)} without a success, if at least two deliveries are exhausted`,
          'Events are kept': formatDuration(retention),
        }}
      />
    </Card>
  );
}

/** `1955m` → `32 h 35 min` */
function inHours(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (milliseconds < 60_000) return formatDuration(milliseconds);
  return [hours > 0 && `${hours} h`, (rest > 0 || hours === 0) && `${rest} min`].filter(Boolean).join(' ');
}

const WAYS = { credentials: 'credentials', link: 'a link of the client', 'operator-link': 'a link of the operator' };

type Own = { own: Visit['session'] };

/** The live sessions of the client, with a button for each that the reader may end. */
function Sessions({ sessions, own }: Own & { sessions: readonly ListedSession[] }) {
  return (
    <Card title="Sessions of this client" table>
      <p class="muted">A session ends after an hour without use, and 8 hours after the sign-in.</p>
      <Table
        rows={sessions}
        columns={[
          { heading: 'Role', cell: ({ role }) => role },
          { heading: 'Signed in by', cell: ({ signedInBy }) => WAYS[signedInBy] },
          { heading: 'Address', cell: ({ address }) => <code>{address}</code> },
          { heading: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
          { heading: 'Last seen', cell: ({ lastSeenAt }) => <RelativeTime at={lastSeenAt} /> },
          { heading: 'Action', hidden: true, class: 'right', cell: (session) => <End session={session} own={own} /> },
        ]}
      />
    </Card>
  );
}

function End({ session, own }: Own & { session: ListedSession }) {
  if (session.id === own.id) return <span class="badge good">this session</span>;
  if (own.role === 'viewer') return null;
  return (
    <PostButton action={`/console/sessions/${session.id}/end`} class="danger">
      End<span class="visually-hidden"> the session from {session.address}</span>
    </PostButton>
  );
}
