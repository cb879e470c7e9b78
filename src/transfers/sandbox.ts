import type { Registry } from 'prom-client';
import type { SandboxStepResult } from '../../workflows/sandbox-transfer.js';
import type { Handover } from '../delivery/handover.js';
import type { Config } from '../platform/config/config.js';
import { type Handle, rowOf } from '../platform/database/database.js';
import type { TransferStatus } from '../platform/database/generated/enums.js';
import { describeLimit, LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { Refusal } from '../platform/refusal.js';
import { sharedGauges } from '../platform/telemetry/gauges.js';
import { changeStatus } from './change-status.js';
import { REASON_CODES, type ReasonCode } from './states.js';

/** Accounts that begin with this make a transfer of the sandbox move by itself. Production refuses them. */
const PREFIX = 'SANDBOX-';
/** Stands for a reason code in upper case. */
const CODE = '<CODE>';

/** One automatic change of a transfer. */
export interface SandboxStep {
  status: TransferStatus;
  reasonCode: ReasonCode | null;
}

/** The accounts, the statuses that follow, and the reason code of the last one where the account does not name it. */
export const SANDBOX_ACCOUNTS: readonly (readonly [string, readonly TransferStatus[], ReasonCode?])[] = [
  [`${PREFIX}COMPLETE`, ['PROCESSING', 'SENT', 'COMPLETED']],
  [`${PREFIX}FAIL-${CODE}`, ['PROCESSING', 'FAILED']],
  [`${PREFIX}RETURN-${CODE}`, ['PROCESSING', 'SENT', 'COMPLETED', 'RETURNED']],
  [`${PREFIX}CANCEL`, ['CANCELLED'], 'customer_request'],
];

/** The codes as an account contains them: `INSUFFICIENT_FUNDS`. */
export const ACCOUNT_CODES: readonly string[] = REASON_CODES.map((code) => code.toUpperCase());

/**
 * The steps that each account makes its transfer take; the last one has the reason code. Upper and lower case differ.
 */
export const SANDBOX_STEPS: ReadonlyMap<string, readonly SandboxStep[]> = new Map(
  SANDBOX_ACCOUNTS.flatMap(([account, statuses, reasonCode = null]) => {
    const codes = account.includes(CODE) ? REASON_CODES : [reasonCode];
    return codes.map((code) => {
      const steps = statuses.map((status) => ({ status, reasonCode: status === statuses.at(-1) ? code : null }));
      return [account.replace(CODE, code?.toUpperCase() ?? ''), steps] as const;
    });
  }),
);

/** The settings that decide about accounts of the sandbox. */
export type SandboxRules = Pick<Config, 'environment' | 'sandboxStep'>;

/**
 * The steps of a transfer to this account; undefined: it does not move by itself.
 * @throws Refusal sandbox_account (production) | unknown_sandbox_account
 */
export function automaticSteps(account: string, { environment }: SandboxRules): readonly SandboxStep[] | undefined {
  if (!account.startsWith(PREFIX)) return undefined;
  const isProduction = environment === 'production';
  const steps = SANDBOX_STEPS.get(account);
  if (steps && !isProduction) return steps;
  const accounts = SANDBOX_ACCOUNTS.map(([name]) => name).join(', ');
  const code = isProduction ? 'sandbox_account' : 'unknown_sandbox_account';
  const detail = isProduction
    ? 'is an account of the sandbox, which production does not have'
    : `must be one of ${accounts}; ${CODE} is one of ${ACCOUNT_CODES.join(', ')}`;
  throw new Refusal(code, `The account ${detail}.`, [{ pointer: '/destination/account', code, detail }]);
}

const { amount: MOST_UNFINISHED } = LIMITS.unfinishedSandboxTransfers;
const limit = new PostgresLimit('simulated transfers', LIMITS.sandboxTransfers);

/**
 * Checks the limits of a client, whose requests wait for each other until `tx` ends.
 * @throws Refusal sandbox_limit_reached
 */
export async function admitSandboxTransfer(tx: Handle, clientId: string): Promise<void> {
  await limit.consume(tx, clientId);
  if ((await countUnfinished(tx, MOST_UNFINISHED, clientId)) < MOST_UNFINISHED) return;
  const detail = `Limit: ${describeLimit(LIMITS.unfinishedSandboxTransfers)}. Wait until some end.`;
  throw new Refusal('sandbox_limit_reached', detail, [], { retryAfter: 1 });
}

interface SandboxRow {
  account: string;
  status: TransferStatus;
  stepsMade: number;
}

/**
 * Makes step `number` of a simulated transfer, 1 for the first. The transfer changes only from the status
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
  const steps = (before && SANDBOX_STEPS.get(before.account)) ?? [];
  const step = steps[number - 1];
  if (step) {
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
      // Another change came first, a manual one or a run of this step. The row says which.
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
select t.destination_account as account, t.status::text, x.steps_made as "stepsMade"
  from sandbox_transfers x join transfers t on t.id = x.transfer_id where x.transfer_id = $1::uuid`;

const END = `
with ended as (
  update sandbox_transfers set ended_at = now() where transfer_id = $1::uuid and ended_at is null
)
delete from workflow_starts where workflow_id = 'sandbox-' || $1::uuid`;

/**
 * Registers the gauges of simulated transfers. They describe the whole environment. They are NaN while
 * Postgres cannot be read.
 * @param counted transfers that are counted, at most
 */
export function measureSandboxTransfers(registry: Registry, db: Handle, counted: number): void {
  const { gauge } = sharedGauges(registry, async () => ({
    waiting: (await rowOf<{ count: number }>(db, WAITING, [counted])).count,
    unfinished: await countUnfinished(db, counted, null),
  }));
  gauge(
    'sandbox_transfers_waiting',
    `Simulated transfers whose workflow has not started yet; up to ${counted}.`,
    ({ waiting }) => waiting,
  );
  gauge(
    'sandbox_transfers_unfinished',
    `Simulated transfers with remaining steps; up to ${counted}.`,
    ({ unfinished }) => unfinished,
  );
}

const WAITING = `
select count(*)::int as count from (
  select from workflow_starts where type = 'sandboxTransfer' and started_at is null limit $1::int) w`;

/** @param clientId null: of all clients */
async function countUnfinished(db: Handle, limit: number, clientId: string | null): Promise<number> {
  return (await rowOf<{ count: number }>(db, UNFINISHED, [limit, clientId])).count;
}

const UNFINISHED = `
select count(*)::int as count from (
  select from sandbox_transfers
   where ended_at is null and ($2::uuid is null or client_id = $2::uuid) limit $1::int) u`;
