import type { Handle } from '../database/database.js';
import type { TransferStatus } from '../database/generated/enums.js';
import type { Handover } from '../delivery/handover.js';
import { Refusal } from '../refusal.js';
import { changeStatus } from './change-status.js';
import { sandboxSteps } from './sandbox-accounts.js';

/** `made`: the step is made, now or by an earlier call. Otherwise another change came first and the steps end. */
export interface SandboxStepResult {
  made: boolean;
  /** The transfer's status; null: the transfer is gone (Postgres was restored to a point before it). */
  status: TransferStatus | null;
}

interface SandboxRow {
  account: string;
  status: TransferStatus;
  stepsMade: number;
  ended: boolean;
}

/**
 * Makes step `number` of a transfer that moves by itself, 1 for the first. The transfer changes only from the status
 * that the step before it set, and the statement of the change records the step. A call that runs again after a crash
 * finds the record and changes nothing. Any other change of the transfer ends its automatic steps.
 */
export async function makeSandboxStep(
  db: Handle,
  handover: Handover,
  transferId: string,
  number: number,
): Promise<SandboxStepResult> {
  const before = await read(db, transferId);
  const steps = (before && sandboxSteps(before.account)) ?? [];
  const step = steps[number - 1];
  if (before && step && before.stepsMade < number && !before.ended) {
    try {
      await changeStatus(db, handover, {
        transferId,
        to: step.status,
        from: [steps[number - 2]?.status ?? 'CREATED'],
        reason: null,
        reasonCode: step.reasonCode,
        sandboxStep: { number, isLast: number === steps.length },
      });
      return { made: true, status: step.status };
    } catch (error) {
      // Another change came first, a manual one or another run of this step. The row says which.
      if (!(error instanceof Refusal)) throw error;
    }
  }
  const after = await read(db, transferId);
  if (after && after.stepsMade >= number) return { made: true, status: after.status };
  await db.query(END, [transferId]);
  return { made: false, status: after?.status ?? null };
}

async function read(db: Handle, transferId: string): Promise<SandboxRow | undefined> {
  const [row] = await db.query<SandboxRow>(READ, [transferId]);
  return row;
}

const READ = `
select t.destination_account as account, t.status::text, x.steps_made as "stepsMade", x.ended_at is not null as ended
  from sandbox_transfers x join transfers t on t.id = x.transfer_id where x.transfer_id = $1::uuid`;

const END = `
with ended as (
  update sandbox_transfers set ended_at = now() where transfer_id = $1::uuid and ended_at is null
)
delete from workflow_starts where workflow_id = 'sandbox-' || $1::uuid`;
