import { SANDBOX_TASK_QUEUE } from '../../workflows/sandbox-task-queue.js';
import type { SandboxTransferInput } from '../../workflows/sandbox-transfer.js';
import { enqueueWorkflow } from '../delivery/workflow-starts.js';
import { atomically, type Handle, rowOf } from '../platform/database/database.js';
import { NOW, newIdSql } from '../platform/ids.js';
import { admitSandboxTransfer, automaticSteps, type SandboxRules, type SandboxStep } from './sandbox.js';
import { type Transfer, type TransferJson, toTransfer, transferJson } from './transfer-json.js';

export interface NewTransfer {
  clientId: string;
  amount: {
    /** Minor units, 1 to 2^53−1. */
    value: number;
    /** ISO 4217 */
    currency: string;
  };
  destination: { name: string; account: string };
  reference: string | null;
  metadata: Record<string, string>;
  /** The `Idempotency-Key` and the digest of the request's body. */
  once?: { key: string; bodyDigest: Uint8Array } | undefined;
}

/**
 * Creates a transfer with the first entry of its history. Creation is not a change of status and makes no event
 *. The need for the workflow of a simulated transfer commits with it.
 * @throws Refusal sandbox_account | unknown_sandbox_account | sandbox_limit_reached
 */
export async function createTransfer(db: Handle, rules: SandboxRules, transfer: NewTransfer): Promise<Transfer> {
  const steps = automaticSteps(transfer.destination.account, rules);
  if (!steps) return insert(db, transfer, false);
  return atomically(db, async (tx) => {
    await admitSandboxTransfer(tx, transfer.clientId);
    const created = await insert(tx, transfer, true);
    await enqueueSteps(tx, created, steps, rules.sandboxStep);
    return created;
  });
}

/** Added to SANDBOX_STEP, ms: a workflow that makes no step for so long is started again if it was lost. */
const OVERDUE = 120_000;

async function enqueueSteps(tx: Handle, transfer: Transfer, steps: readonly SandboxStep[], stepDelay: number) {
  const { id: transferId, clientId, destinationAccount: account, createdAt } = transfer;
  const statuses = steps.map(({ status }) => status);
  const input = { transferId, statuses, made: 0, stepDelay, createdAt: createdAt.getTime() };
  await enqueueWorkflow(tx, {
    workflowId: `sandbox-${transferId}`,
    type: 'sandboxTransfer',
    taskQueue: SANDBOX_TASK_QUEUE,
    clientId,
    transferId,
    input: input satisfies SandboxTransferInput,
    summary: `${account}: ${statuses.join(' → ')}`,
    renewedWithin: Math.ceil((stepDelay + OVERDUE) / 1_000),
  });
}

async function insert(db: Handle, transfer: NewTransfer, moves: boolean): Promise<Transfer> {
  const { clientId, amount, destination, reference, metadata, once } = transfer;
  const row = await rowOf<{ transfer: TransferJson }>(db, INSERT, [
    ...[clientId, String(amount.value), amount.currency, destination.name, destination.account, reference],
    ...[JSON.stringify(metadata), moves, once?.key ?? null, once?.bodyDigest ?? null],
  ]);
  return toTransfer(row.transfer);
}

/** The time is that of Postgres's clock, as that of every change after it. */
const INSERT = `
with transfer as (
  insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account, reference,
                         metadata, idempotency_key, request_digest, created_at, updated_at)
  select ${newIdSql('at')}, $1::uuid, $2::bigint, $3::text, $4::text, $5::text, $6::text, $7::jsonb, $9::text,
         $10::bytea, at, at
    from ${NOW} as clock(at)
  returning *
), history as (
  insert into transfer_status_history (transfer_id, position, status, at)
  select id, 0, status, created_at from transfer
), sandbox as (
  insert into sandbox_transfers (transfer_id, client_id) select id, client_id from transfer where $8::boolean
)
select ${transferJson('t')} as transfer from transfer t`;
