import type { CheckReceiverInput } from '../../workflows/check-receiver.js';
import { receiverName } from '../../workflows/receiver.js';
import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import { enqueueWorkflow } from '../delivery/workflow-starts.js';
import { getEndpoint } from '../endpoints/endpoints.js';
import { refuseAnother, refuseInactive } from '../endpoints/refusals.js';
import { receiverOf } from '../endpoints/url.js';
import { type By, recordAudit } from '../platform/audit.js';
import { type Handle, lockInTransaction, readClock } from '../platform/database/database.js';
import type { Prisma } from '../platform/database/generated/client.js';
import { takeId } from '../platform/ids.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { Refusal } from '../platform/refusal.js';
import { CHECK_CASE_NAMES, type CheckResult } from '../platform/vocabulary.js';

/** The hint of a case that was not sent, because the check ended early. */
const NOT_SENT = {
  endpoint_not_active: 'Not sent: the endpoint was disabled or deleted during the check. Enable it and check again.',
  not_started:
    'Not sent: the check was not started within a minute. Temporal or the workers are unavailable. Check again.',
  stopped: 'Not sent: the check was stopped before this case. Check again.',
} as const;

/** Longer than a case takes with its tries, s: a check without a case for so long is started again if it was lost. */
const RENEWED_WITHIN = 120;

const ofEndpoint = new PostgresLimit('checks of an endpoint', LIMITS.checksOfEndpoint);
const ofClient = new PostgresLimit('checks', LIMITS.checks);

/** The workflow of a check. */
export const checkWorkflowId = (checkId: string) => `check-${checkId}`;

/**
 * Starts a check of an endpoint's receiver, whose workflow a worker starts. Requests of one client run one at a time.
 * @returns the id of the check
 * @throws Refusal not_found | endpoint_not_active | check_in_progress | check_limit_reached
 */
export async function startCheck(
  tx: Handle,
  { by, clientId, endpointId }: Omit<CheckId, 'id'> & { by: By },
): Promise<string> {
  await lockInTransaction(tx, `checks of ${clientId}`);
  const endpoint = await getEndpoint(tx, clientId, endpointId);
  refuseInactive(endpoint);
  await endUnstartedChecks(tx, clientId);
  const running = await tx.query<{ endpointId: string }>(RUNNING, [clientId]);
  refuseAnother('check', endpointId, running, LIMITS.checksAtOnce);
  await ofEndpoint.consume(tx, endpointId);
  await ofClient.consume(tx, clientId);
  const { id: checkId } = await takeId(tx);
  const receiver = receiverName(receiverOf(endpoint));
  await tx.query(BEGIN, [checkId, clientId, endpointId]);
  await enqueueWorkflow(tx, {
    workflowId: checkWorkflowId(checkId),
    type: 'checkReceiver',
    taskQueue: SANDBOX_TASK_QUEUE,
    clientId,
    endpointId,
    input: { checkId, receiver, cases: CHECK_CASE_NAMES } satisfies CheckReceiverInput,
    summary: `check of the receiver → ${receiver}`,
    renewedWithin: RENEWED_WITHIN,
  });
  const details = { client_id: clientId, check: checkId };
  await recordAudit(tx, { ...by, action: 'endpoints.check', target: endpointId, details });
  return checkId;
}

const RUNNING = `
select endpoint_id as "endpointId" from receiver_checks where finished_at is null and client_id = $1::uuid`;

const BEGIN = 'insert into receiver_checks (id, client_id, endpoint_id) values ($1::uuid, $2::uuid, $3::uuid)';

/** A check whose workflow has not started for so long has failed, s. */
const START_WITHIN = 60;

/**
 * Ends a check and the need for its workflow. It has passed if all cases have. Cases that were not sent are recorded as
 * failed.
 * @returns undefined if the check has already ended or is removed
 */
export async function finishCheck(
  db: Handle,
  checkId: string,
  notSent: keyof typeof NOT_SENT,
): Promise<CheckResult | undefined> {
  const [row] = await db.query<{ status: CheckResult }>(FINISH, [CHECK_CASE_NAMES, NOT_SENT[notSent], checkId]);
  return row?.status;
}

/**
 * Ends the checks whose workflow has not started within a minute, because Temporal or every worker is unavailable.
 * Workers, a read of such a check and the next check of the client do it, so it blocks nothing where no worker runs.
 * @param clientId null: of all clients
 * @returns the number of checks that have ended
 */
export async function endUnstartedChecks(db: Handle, clientId: string | null): Promise<number> {
  return (await db.query(FINISH_UNSTARTED, [CHECK_CASE_NAMES, NOT_SENT.not_started, clientId])).length;
}

/**
 * @param workflows deletes rows of `workflow_starts`
 * @param checks the ids of their checks
 */
const finishing = (workflows: string, checks: string) => `
with workflows as (
  ${workflows}
), running as (
  select id from receiver_checks where id in (${checks}) and finished_at is null for update
), missing as (
  insert into receiver_check_cases (check_id, position, name, passed, hint)
  select running.id, named.position, named.name, false, $2
    from running, unnest($1::text[]) with ordinality as named (name, position)
  on conflict do nothing
  returning check_id
)
update receiver_checks c set finished_at = now(), status = case
         when exists (select from missing m where m.check_id = c.id)
           or exists (select from receiver_check_cases k where k.check_id = c.id and not k.passed)
         then 'failed' else 'passed' end
  from running where c.id = running.id
returning c.status`;

const FINISH = finishing(`delete from workflow_starts where workflow_id = 'check-' || $3::uuid`, '$3::uuid');

const FINISH_UNSTARTED = finishing(
  `delete from workflow_starts
    where type = 'checkReceiver' and started_at is null and created_at <= now() - interval '${START_WITHIN} seconds'
      and ($3::uuid is null or client_id = $3::uuid)
   returning (input->>'checkId')::uuid as id`,
  'select id from workflows',
);

/** A check is shown and kept for this long, ms. */
const KEPT = 24 * 3_600_000;

const WITH_CASES = { cases: { orderBy: { position: 'asc' } } } as const;

/** A check with the cases sent so far, in their order. */
export type CheckRecord = Prisma.ReceiverCheckGetPayload<{ include: typeof WITH_CASES }>;

interface CheckId {
  clientId: string;
  endpointId: string;
  id: string;
}

/** @throws Refusal not_found */
export async function getCheck(db: Handle, of: CheckId): Promise<CheckRecord> {
  const now = await readClock(db);
  const check = await readCheck(db, of, now);
  if (check.finishedAt !== null || now - check.startedAt.getTime() < START_WITHIN * 1_000) return check;
  return (await endUnstartedChecks(db, of.clientId)) === 0 ? check : readCheck(db, of, now);
}

async function readCheck(db: Handle, { clientId, endpointId, id }: CheckId, now: number): Promise<CheckRecord> {
  const check = await db.prisma.receiverCheck.findFirst({
    where: { id, clientId, endpointId, startedAt: { gt: new Date(now - KEPT) } },
    include: WITH_CASES,
  });
  if (!check) throw new Refusal('not_found', 'There is no such check; a check is kept for a day.');
  return check;
}
