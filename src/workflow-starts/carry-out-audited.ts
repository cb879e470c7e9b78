import { type AuditRecord, recordAudit } from '../audit/record.js';
import type { Database } from '../database/database.js';
import type { TwoStepAction } from '../webhooks/delivery-actions.js';

/**
 * Does an action of the operator. The audit entry is written before Temporal is asked: without an entry nothing is
 * done. A refused action leaves no entry.
 */
export async function carryOutAudited<Request, Plan, Result>(
  database: Database,
  action: TwoStepAction<Request, Plan, Result>,
  request: Request,
  record: AuditRecord,
): Promise<Plan> {
  const { plan, entry } = await database.transaction(async (tx) => ({
    plan: await action.plan(tx, request, undefined),
    entry: await recordAudit(tx, record),
  }));
  await action.carryOut(database, plan).catch(async (error: unknown) => {
    await database.prisma.auditEntry.delete({ where: { id: entry } });
    throw error;
  });
  return plan;
}
