import { CHECK_CASE_NAMES, type CheckResult } from '../check-cases.js';
import type { Handle } from '../database/database.js';
import { NOT_SENT } from './hints.js';

/** A check whose workflow has not started for so long has failed, s (contract). */
export const START_WITHIN = 60;

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
