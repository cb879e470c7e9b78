import { CHECK_CASE_NAMES, type CheckResult } from '../check-cases.js';
import type { Handle } from '../database/database.js';
import { NOT_SENT } from './hints.js';

/**
 * Ends a check. It has passed if all cases have. Cases that were not sent are recorded as failed.
 * @returns undefined if the check has already ended or is removed
 */
export async function finishCheck(
  db: Handle,
  checkId: string,
  notSent: keyof typeof NOT_SENT,
): Promise<CheckResult | undefined> {
  const [row] = await db.query<{ status: CheckResult }>(FINISH, [checkId, CHECK_CASE_NAMES, NOT_SENT[notSent]]);
  return row?.status;
}

const FINISH = `
with running as (
  select id from receiver_checks where id = $1::uuid and finished_at is null for update
), missing as (
  insert into receiver_check_cases (check_id, position, name, passed, hint)
  select running.id, named.position, named.name, false, $3
    from running, unnest($2::text[]) with ordinality as named (name, position)
  on conflict do nothing
  returning name
)
update receiver_checks c set finished_at = now(), status = case
         when exists (select from missing)
           or exists (select from receiver_check_cases k where k.check_id = c.id and not k.passed)
         then 'failed' else 'passed' end
  from running where c.id = running.id
returning c.status`;

/** Deletes a check whose workflow never started, so that it counts towards no limit. */
export async function forgetCheck(db: Handle, checkId: string): Promise<void> {
  await db.prisma.receiverCheck.deleteMany({ where: { id: checkId, finishedAt: null } });
}
