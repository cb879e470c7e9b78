import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import type { By } from '../audit/record.js';
import { recordAudit } from '../audit/record.js';
import { CHECK_CASE_NAMES } from '../check-cases.js';
import type { Handle } from '../database/database.js';
import { lockInTransaction } from '../database/database.js';
import { enqueueWorkflow } from '../delivery/workflow-starts.js';
import { newId } from '../ids.js';
import { BETWEEN_CHECKS, CHECKS_A_MINUTE, CHECKS_AT_ONCE } from '../limits.js';
import { Refusal } from '../refusal.js';
import { hostOf } from '../webhooks/endpoint-url.js';
import { getEndpoint, refuseInactive } from '../webhooks/endpoints.js';
import { endUnstartedChecks } from './finish-check.js';

/** Longer than a case takes with its tries, s: a check without a case for so long is started again if it was lost. */
const RENEWED_WITHIN = 120;

export interface CheckRequest {
  by: By;
  clientId: string;
  endpointId: string;
}

/** The workflow of a check. */
export const checkWorkflowId = (checkId: string) => `check-${checkId}`;

/**
 * Starts a check of an endpoint's receiver, whose workflow a worker starts. Requests of one client run one at a time.
 * @returns the id of the check
 * @throws Refusal not_found | endpoint_not_active | check_in_progress | check_limit_reached
 */
export async function startCheck(tx: Handle, { by, clientId, endpointId }: CheckRequest): Promise<string> {
  await lockInTransaction(tx, `checks of ${clientId}`);
  const endpoint = await getEndpoint(tx, clientId, endpointId);
  refuseInactive(endpoint);
  await endUnstartedChecks(tx, clientId);
  await refuseBesideOthers(tx, clientId, endpointId);
  await refuseTooMany(tx, clientId, endpointId);
  const checkId = newId();
  const host = hostOf(endpoint.url);
  await tx.query(BEGIN, [checkId, clientId, endpointId]);
  await enqueueWorkflow(tx, {
    workflowId: checkWorkflowId(checkId),
    type: 'checkReceiver',
    taskQueue: SANDBOX_TASK_QUEUE,
    clientId,
    endpointId,
    input: { checkId, clientId, webhookId: endpointId, host, cases: CHECK_CASE_NAMES },
    summary: `check of the receiver → ${host}`,
    renewedWithin: RENEWED_WITHIN,
  });
  const details = { client_id: clientId, check: checkId };
  await recordAudit(tx, { ...by, action: 'endpoints.check', target: endpointId, details });
  return checkId;
}

async function refuseBesideOthers(tx: Handle, clientId: string, endpointId: string): Promise<void> {
  const running = await tx.query<{ endpointId: string }>(RUNNING, [clientId]);
  const ofEndpoint = running.some((check) => check.endpointId === endpointId);
  if (!ofEndpoint && running.length < CHECKS_AT_ONCE) return;
  throw new Refusal(
    'check_in_progress',
    ofEndpoint
      ? 'A check of this endpoint is running; wait until it ends.'
      : `${CHECKS_AT_ONCE} checks of this client are running; wait until one ends.`,
  );
}

async function refuseTooMany(tx: Handle, clientId: string, endpointId: string): Promise<void> {
  const [last] = await tx.query<{ wait: number }>(LAST, [endpointId]);
  if (last && last.wait > 0) {
    throw tooMany(`An endpoint can be checked once in ${BETWEEN_CHECKS} s`, last.wait);
  }
  const [minute] = await tx.query<{ count: number; wait: number }>(LAST_MINUTE, [clientId]);
  if (minute && minute.count >= CHECKS_A_MINUTE) {
    throw tooMany(`A client can check at most ${CHECKS_A_MINUTE} times in a minute`, minute.wait);
  }
}

function tooMany(rule: string, wait: number): Refusal {
  const retryAfter = Math.max(1, wait);
  const detail = `${rule}; the next check is possible in ${retryAfter} s.`;
  return new Refusal('check_limit_reached', detail, [], { retryAfter });
}

const RUNNING = `
select endpoint_id as "endpointId" from receiver_checks where client_id = $1::uuid and finished_at is null`;

const LAST = `
select ceil(extract(epoch from started_at + interval '${BETWEEN_CHECKS} seconds' - now()))::int as wait
  from receiver_checks where endpoint_id = $1::uuid order by started_at desc limit 1`;

const LAST_MINUTE = `
select count(*)::int as count, coalesce(ceil(extract(epoch from min(started_at) + interval '1 minute' - now())), 0)::int as wait
  from receiver_checks where client_id = $1::uuid and started_at > now() - interval '1 minute'`;

const BEGIN = 'insert into receiver_checks (id, client_id, endpoint_id) values ($1::uuid, $2::uuid, $3::uuid)';
