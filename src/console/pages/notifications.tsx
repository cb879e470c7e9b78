import type { ComponentChildren } from 'preact';
import { listNotifications, markSeen, type ShownNotification } from '../../endpoints/notifications.js';
import { idCursor } from '../../http/paging.js';
import type { NotificationType } from '../../platform/vocabulary.js';
import { Empty, Pager, Table } from '../components/lists.js';
import { countText, Time, Untrusted } from '../components/values.js';
import { page } from '../page.js';
import { endpointPath } from './paths.js';

const LISTED = 25;
const cursors = idCursor('notifications');

/** What the client was told about its endpoints. The bell in the header counts what came after the last visit. */
export const notificationsPage = page({
  path: '/console/notifications',
  scope: 'webhooks:read',
  points: 2,
  title: 'Notifications',
  async view({ session, query, read, db }) {
    const before = cursors.read(query.get('cursor') ?? '');
    const rows = await read((tx) => listNotifications(tx, session.clientId, { before, take: LISTED + 1 }));
    const shown = rows.slice(0, LISTED);
    const [newest, last] = [shown[0], shown.at(-1)];
    if (before === undefined && newest) await markSeen(db, session.clientId, newest.id);
    const nextCursor = rows.length > LISTED && last ? cursors.after(last) : null;
    return (
      <>
        <h1>Notifications</h1>
        <p class="muted">Kept for 30 days. Your operator can also send them to a URL of yours.</p>
        {shown.length === 0 ? (
          <Empty title="No notifications">
            <p>You find here when an endpoint fails, is disabled, or works again.</p>
          </Empty>
        ) : (
          <Table<ShownNotification>
            rows={shown}
            row={({ id }) => ({ id: `notification-${id}` })}
            href={linkOf}
            columns={{
              What: ({ type, data }) => TEXTS[type](data),
              Endpoint: ({ data: { host, description } }) => <Untrusted text={String(description ?? host ?? '')} />,
              At: ({ at }) => <Time at={at.toISOString()} />,
            }}
          />
        )}
        <Pager path="/console/notifications" query={query} nextCursor={nextCursor} />
      </>
    );
  },
});

type Data = ShownNotification['data'];

/** The page that shows what failed. */
function linkOf({ type, data }: ShownNotification): string {
  const id = String(data.webhookId);
  const list = (status: string) => `/console/deliveries?${new URLSearchParams({ status, webhookId: id })}`;
  if (type === 'endpoint.failing') return list(data.pending === 0 ? 'failed' : 'pending');
  if (type === 'deliveries.ending') return list('pending');
  return endpointPath(id);
}

const count = (value: Data[string] | undefined) => countText(Number(value ?? 0));
const TEXTS: Readonly<Record<NotificationType, (data: Data) => ComponentChildren>> = {
  'endpoint.failing': ({ pending }) => `Fails: nothing has succeeded for an hour; ${count(pending)} pending deliveries`,
  'endpoint.disabled': ({ reason, cancelled }) => `Disabled (${reason}); ${count(cancelled)} deliveries cancelled`,
  'endpoint.recovered': () => 'Works again',
  'deliveries.ending': (data) => (
    <>
      Last retries of {count(data.count)} deliveries end soon, the first <Time at={String(data.first_ends_at)} />
    </>
  ),
  'workflows.behind': () => 'Workflows are behind',
};
