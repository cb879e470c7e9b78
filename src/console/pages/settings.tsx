import { endSession, listSessions } from '../../auth/console-sessions.js';
import { Table } from '../components/lists.js';
import { Card, Facts, PostButton } from '../components/parts.js';
import { durationText, Id, RelativeTime, Time } from '../components/values.js';
import { form, page, seeOther } from '../page.js';

const settings = page({
  path: '/console/settings',
  scope: null,
  points: 2,
  title: 'Settings',
  navigation: 'Settings',
  async view({ session, config, read }) {
    const sessions = await read((db) => listSessions(db, session.clientId));
    const delays = config.retryDelays.map((delay) => (delay === 0 ? 'immediately' : durationText(delay)));
    return (
      <>
        <h1>Settings</h1>
        <Card title="Client and limits">
          <Facts
            of={{
              'Client id': <Id id={session.clientId} whole />,
              'Scopes of your session': [...session.scopes].join(' ') || 'none',
              'Base URL and audience': <code>{config.baseUrl}</code>,
              'Token URL': <code>{config.authUrl}/oauth/token</code>,
              'API reference': <a href={`${config.baseUrl}/docs`}>{config.baseUrl}/docs</a>,
              'Deliveries come from':
                config.egressAddresses.join(', ') || 'No addresses are published by the operator.',
              Requests: `${session.rateLimit ?? config.rateLimit} per second, API and console together`,
              'Webhook endpoints': session.maxEndpoints ?? config.maxEndpoints,
              'Concurrent deliveries': `${config.endpointConcurrency} to an endpoint without its own limit`,
              'Automatic retries': `${delays.join(', ')} after the previous attempt`,
              'Failing endpoint':
                config.disableAfter === 0
                  ? 'Never disabled'
                  : `Disabled after ${durationText(config.disableAfter)} without a success, if at least two deliveries are exhausted`,
              'Events are kept': durationText(config.retention),
            }}
          />
        </Card>
        <section class="stack" aria-label="Sessions">
          <h2>Sessions of this client</h2>
          <p class="muted">A session ends after an hour without use, and 8 hours after the sign-in.</p>
          <Table
            rows={sessions}
            columns={{
              Role: ({ role }) => role,
              'Signed in by': ({ signedInBy }) => signedInBy,
              Address: ({ address }) => <code>{address}</code>,
              Since: ({ createdAt }) => <Time at={createdAt} />,
              'Last seen': ({ lastSeenAt }) => <RelativeTime at={lastSeenAt} />,
              Action: ({ id, address }) =>
                id === session.id ? (
                  <span class="badge good">this session</span>
                ) : (
                  session.role === 'editor' && (
                    <PostButton action={`/console/sessions/${id}/end`} class="danger">
                      End<span class="visually-hidden"> the session from {address}</span>
                    </PostButton>
                  )
                ),
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
