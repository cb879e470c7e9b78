import { type AuditRecord, recordAudit } from '../audit/record.js';
import type { Database } from '../database/database.js';
import type { TwoStepAction } from '../webhooks/delivery-actions.js';

/** The actions that ask Temporal after their transaction. */
type AuditedAction = 'deliveries.retry' | 'endpoints.check';

/**
 * Does an action of the operator. The audit entry is written before Temporal is asked: without an entry nothing is
 * done. A refused action leaves no entry. If Temporal refuses it or does not answer, a second entry says so: no entry
 * is ever removed, and an action without an answer may have been carried out.
 */
export async function carryOutAudited<Request, Plan, Result>(
  database: Database,
  action: TwoStepAction<Request, Plan, Result>,
  request: Request,
  record: AuditRecord & { action: AuditedAction },
): Promise<Plan> {
  const { plan, entry } = await database.transaction(async (tx) => ({
    plan: await action.plan(tx, request, undefined),
    entry: await recordAudit(tx, record),
  }));
  await action.carryOut(database, plan).catch(async (error: unknown) => {
    await recordAudit(database, {
      ...record,
      action: `${record.action}-failed`,
      details: { ...record.details, entry },
    });
    throw error;
  });
  return plan;
}
