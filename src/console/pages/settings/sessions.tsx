import type { VNode } from 'preact';
import type { ListedSession } from '../../../auth/console-sessions.js';
import { RelativeTime, Time } from '../../components/time.js';
import type { Visit } from '../../page.js';

const WAYS = { credentials: 'credentials', link: 'a link of the client', 'operator-link': 'a link of the operator' };

/** The live sessions of the client, with a button for each that the reader may end. */
export function Sessions({ sessions, own }: { sessions: readonly ListedSession[]; own: Visit['session'] }): VNode {
  return (
    <section class="card table-card" aria-labelledby="sessions">
      <h2 id="sessions">Sessions of this client</h2>
      <p class="muted">A session ends after an hour without use, and 8 hours after the sign-in.</p>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Role</th>
            <th scope="col">Signed in by</th>
            <th scope="col">Address</th>
            <th scope="col">Since</th>
            <th scope="col">Last seen</th>
            <th scope="col">
              <span class="visually-hidden">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((session) => (
            <tr key={session.id}>
              <td data-label="Role">{session.role}</td>
              <td data-label="Signed in by">{WAYS[session.signedInBy]}</td>
              <td data-label="Address">
                <code>{session.address}</code>
              </td>
              <td data-label="Since">
                <Time at={session.createdAt.toISOString()} />
              </td>
              <td data-label="Last seen">
                <RelativeTime at={session.lastSeenAt.toISOString()} />
              </td>
              <td class="right">
                <End session={session} own={own} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function End({ session, own }: { session: ListedSession; own: Visit['session'] }): VNode | null {
  if (session.id === own.id) return <span class="badge good">this session</span>;
  if (own.role === 'viewer') return null;
  return (
    <form class="inline" method="post" action={`/console/sessions/${session.id}/end`}>
      <button type="submit" class="danger">
        End<span class="visually-hidden"> the session from {session.address}</span>
      </button>
    </form>
  );
}
