import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import type { NotifyInput, NotifyResult, Recipient } from '../../workflows/notify.js';
import type { LiveWorkers } from '../delivery/live-workers.js';
import { createAddressGuard } from '../delivery/sender/address-guard.js';
import { createSender, type Sender, type SendOutcome } from '../delivery/sender/send.js';
import { enqueueWorkflow, keepStarted } from '../delivery/workflow-starts.js';
import { type Facts, notifyOperator } from '../endpoints/notifications.js';
import { watchEndpoints } from '../endpoints/watch.js';
import type { Config } from '../platform/config/config.js';
import { type Database, type Handle, tryLockInTransaction } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { NIL_ID, newId } from '../platform/ids.js';
import { Periodic } from '../platform/periodic.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Metrics } from '../platform/telemetry/metrics.js';
import { EVENT_VERSION, type NotificationType } from '../platform/vocabulary.js';
import { readBacklog } from '../reports/backlog.js';

const INTERVAL = 1_000;
/** Endpoints of one look, and messages that get their workflows at once. */
const [ENDPOINTS, ROUTED] = [200, 100];
/** Rest after a look at all endpoints, and between two looks at the workflows, ms. */
const [ENDPOINTS_REST, WORKFLOWS_REST] = [5_000, 60_000];
/** An event that waits longer for its workflow, s: workflows are behind, as the alert `WorkflowsTrail` says. */
const BEHIND = 900;

export interface NotifierOptions {
  db: Database;
  workers: Pick<LiveWorkers, 'isFirst'>;
  /** Whether the operator has a `NOTIFY_URL`. */
  operator: boolean;
  /** ms */
  retryDelays: readonly number[];
  log: Log;
}

/**
 * Looks for what operator and clients are to be told, and starts the workflows that tell them. The first of the live
 * workers does it; a lock excludes another one that was the first a moment ago.
 */
export function notifier({ db, workers, log, ...options }: NotifierOptions): Periodic {
  let after = NIL_ID;
  let [endpointsAt, workflowsAt] = [0, 0];

  async function look(tx: Handle): Promise<void> {
    const now = performance.now();
    if (now >= endpointsAt) {
      const last = await watchEndpoints(tx, after, ENDPOINTS);
      if (last === null) endpointsAt = now + ENDPOINTS_REST;
      after = last ?? NIL_ID;
    }
    if (now >= workflowsAt) {
      workflowsAt = now + WORKFLOWS_REST;
      const { waiting, oldestAge } = await readBacklog(tx);
      const age = Math.round(Math.max(oldestAge.start, oldestAge.delivered));
      const facts: Facts = { events: waiting.start + waiting.delivered, oldest_age_seconds: age };
      if (age > BEHIND) await notifyOperator(tx, 'workflows.behind', facts);
    }
    await routeNotifications(tx, options);
  }

  return new Periodic({
    interval: INTERVAL,
    isDue: async () => workers.isFirst,
    run: async () => {
      await db.transaction(async (tx) => {
        if (await tryLockInTransaction(tx, 'notifications')) await look(tx);
        failpoint('before-notified');
      });
      failpoint('after-notified');
    },
    onFault: reportTo(log, 'looking for what to notify of failed; next try in a second'),
  });
}

/** The workflow that tells a recipient. */
const workflowId = (id: string, to: Recipient) => `notify-${id}-${to}`;

/** Starts the workflows of new messages: one for the operator, and one for the client if it has a `notify_url`. */
export async function routeNotifications(
  tx: Handle,
  { operator, retryDelays }: Pick<NotifierOptions, 'operator' | 'retryDelays'>,
): Promise<void> {
  // A workflow that has not ended its longest wait is not lost.
  const renewedWithin = Math.ceil(Math.max(...retryDelays) / 1_000) + 600;
  for (const { id, type, clientId, endpointId, toClient } of await tx.query<Routed>(ROUTE, [ROUTED])) {
    const recipients: Recipient[] = [
      ...(operator ? ['operator' as const] : []),
      ...(toClient ? ['client' as const] : []),
    ];
    for (const to of recipients) {
      await enqueueWorkflow(tx, {
        workflowId: workflowId(id, to),
        type: 'notify',
        taskQueue: TASK_QUEUE,
        clientId: clientId ?? NIL_ID,
        ...(endpointId !== null && { endpointId }),
        input: { notificationId: id, to, type, ladder: retryDelays } satisfies NotifyInput,
        summary: `${type} → ${to}`,
        renewedWithin,
      });
    }
  }
}

interface Routed {
  id: string;
  type: NotificationType;
  clientId: string | null;
  endpointId: string | null;
  toClient: boolean;
}

const ROUTE = `
update notifications n set routed = true
 where n.id = any(array(select id from notifications where not routed order by id limit $1::int for update skip locked))
returning n.id::text, n.type, n.client_id::text as "clientId", n.endpoint_id::text as "endpointId",
          exists (select from clients c where c.id = n.client_id and c.notify_url is not null and c.revoked_at is null) as "toClient"`;

/** The sender to the operator, whose receiver may be in its own network. */
export const operatorSender = (receivers: Config['receivers'], { allowPrivate }: NonNullable<Config['notify']>) =>
  createSender({ guard: createAddressGuard({ ...receivers, allowPrivate: receivers.allowPrivate || allowPrivate }) });

/** Sends a message of the type `notification.test` to the operator, once, and records nothing. */
export async function sendTest({
  notify,
  receivers,
}: Pick<Config, 'notify' | 'receivers'>): Promise<SendOutcome | undefined> {
  if (!notify) return undefined;
  const [id, at] = [newId(), new Date().toISOString().slice(0, -1)];
  const body = JSON.stringify({ id, version: EVENT_VERSION, type: 'notification.test', data: {}, created_at: at });
  const sender = operatorSender(receivers, notify);
  try {
    return await sender.send({ url: notify.url.reveal(), secret: notify.secret, body, clientId: NIL_ID });
  } finally {
    await sender.close();
  }
}

export interface NotifyDependencies {
  database: Database;
  masterKeys: MasterKeys;
  /** Of the clients' receivers. */
  sender: Pick<Sender, 'send'>;
  /** Undefined: there is no `NOTIFY_URL`. */
  operator: (NonNullable<Config['notify']> & { sender: Pick<Sender, 'send'> }) | undefined;
  metrics: Pick<Metrics, 'notificationSent'>;
  log: Log;
}

/**
 * Sends a message once. The workflow's row in `workflow_starts` goes when it was received, or this was the last try.
 * @returns `ended`: the recipient or the message is no longer there
 * @throws only for faults of this service
 */
export async function sendNotification(
  dependencies: NotifyDependencies,
  { notificationId: id, to, isLast }: { notificationId: string; to: Recipient; isLast: boolean },
): Promise<NotifyResult> {
  const { database, metrics, log } = dependencies;
  await keepStarted(database, workflowId(id, to));
  const [message] = await database.query<Message>(MESSAGE, [id]);
  const target = message && targetOf(dependencies, message, to);
  const outcome = target && (await target.sender.send({ ...target, body: message.body }));
  failpoint('after-notification-sent');
  const result = !outcome ? 'ended' : outcome.error === null ? 'received' : 'failed';
  if (outcome) {
    const { error, responseStatus, durationMs } = outcome;
    metrics.notificationSent(to, result === 'received');
    const line = {
      notification_id: id,
      type: message?.type,
      to,
      response_status: responseStatus,
      duration_ms: durationMs,
    };
    log[error === null ? 'info' : 'warn']({ ...line, outcome: error ?? 'success' }, 'notification');
  }
  if (result !== 'failed' || isLast) await database.query(END, [workflowId(id, to)]);
  return result;
}

interface Message {
  type: NotificationType;
  body: string;
  clientId: string | null;
  /** Null, as the envelope: the client has none, or is revoked. */
  url: string | null;
  secretEnvelope: string | null;
}

function targetOf({ masterKeys, sender, operator }: NotifyDependencies, message: Message, to: Recipient) {
  if (to === 'operator') return operator && { ...operator, url: operator.url.reveal(), clientId: NIL_ID };
  const { clientId, url, secretEnvelope } = message;
  if (clientId === null || url === null || secretEnvelope === null) return undefined;
  return { sender, url, clientId, secret: masterKeys.open(secretEnvelope, clientId) };
}

const MESSAGE = `
select n.type, n.body, n.client_id::text as "clientId", c.notify_url as url, c.notify_secret_envelope as "secretEnvelope"
  from notifications n left join clients c on c.id = n.client_id and c.revoked_at is null
 where n.id = $1::uuid`;
const END = 'delete from workflow_starts where workflow_id = $1';
