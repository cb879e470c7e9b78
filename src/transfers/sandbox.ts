import type { Registry } from 'prom-client';
import type { SandboxStepResult } from '../../workflows/sandbox-transfer.js';
import type { Handover } from '../delivery/handover.js';
import { countWaiting } from '../delivery/workflow-starts.js';
import type { Config } from '../platform/config/config.js';
import type { Handle } from '../platform/database/database.js';
import type { TransferStatus } from '../platform/database/generated/enums.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { Refusal, type RefusalCode } from '../platform/refusal.js';
import { sharedGauges } from '../platform/telemetry/gauges.js';
import { changeStatus } from './change-status.js';
import { REASON_CODES, type ReasonCode } from './states.js';

/** Accounts that begin with this make a transfer of the sandbox move by itself. Production refuses them. */
const PREFIX = 'SANDBOX-';

/** One automatic change of a transfer. */
export interface SandboxStep {
  status: TransferStatus;
  reasonCode: ReasonCode | null;
}

const PATHS = {
  COMPLETE: ['PROCESSING', 'SENT', 'COMPLETED'],
  FAIL: ['PROCESSING', 'FAILED'],
  RETURN: ['PROCESSING', 'SENT', 'COMPLETED', 'RETURNED'],
  CANCEL: ['CANCELLED'],
} as const satisfies Record<string, readonly TransferStatus[]>;

/** The accounts and the statuses that follow, for the docs. */
export const SANDBOX_ACCOUNTS: readonly (readonly [account: string, statuses: readonly TransferStatus[]])[] = [
  [`${PREFIX}COMPLETE`, PATHS.COMPLETE],
  [`${PREFIX}FAIL-<CODE>`, PATHS.FAIL],
  [`${PREFIX}RETURN-<CODE>`, PATHS.RETURN],
  [`${PREFIX}CANCEL`, PATHS.CANCEL],
];

/** The codes as an account contains them: `INSUFFICIENT_FUNDS`. */
export const ACCOUNT_CODES: readonly string[] = REASON_CODES.map((code) => code.toUpperCase());

/** Whether an account is of the sandbox, known or not. Upper and lower case differ. */
export function isSandboxAccount(account: string): boolean {
  return account.startsWith(PREFIX);
}

/** The steps that an account of the sandbox makes its transfer take; undefined: there is no such account. */
export function sandboxSteps(account: string): SandboxStep[] | undefined {
  if (!isSandboxAccount(account)) return undefined;
  const name = account.slice(PREFIX.length);
  if (name === 'COMPLETE') return steps(PATHS.COMPLETE, null);
  if (name === 'CANCEL') return steps(PATHS.CANCEL, 'customer_request');
  const [, path, code] = /^(FAIL|RETURN)-([A-Z_]+)$/.exec(name) ?? [];
  const reasonCode = REASON_CODES.find((known) => known.toUpperCase() === code);
  if (reasonCode === undefined) return undefined;
  return steps(path === 'FAIL' ? PATHS.FAIL : PATHS.RETURN, reasonCode);
}

/** The last status has the reason code. */
function steps(path: readonly TransferStatus[], reasonCode: ReasonCode | null): SandboxStep[] {
  return path.map((status, i) => ({ status, reasonCode: i === path.length - 1 ? reasonCode : null }));
}

/** The settings that decide about accounts of the sandbox. */
export type SandboxRules = Pick<Config, 'environment' | 'sandboxStep'>;

/**
 * Whether a transfer to this account moves by itself.
 * @throws Refusal sandbox_account (production) | unknown_sandbox_account
 */
export function movesByItself(account: string, { environment }: SandboxRules): boolean {
  if (!isSandboxAccount(account)) return false;
  if (environment === 'production') {
    throw refusedAccount('sandbox_account', 'is an account of the sandbox, which production does not have');
  }
  if (!sandboxSteps(account)) {
    const accounts = SANDBOX_ACCOUNTS.map(([name]) => name).join(', ');
    const codes = ACCOUNT_CODES.join(', ');
    throw refusedAccount('unknown_sandbox_account', `must be one of ${accounts}; <CODE> is one of ${codes}`);
  }
  return true;
}

function refusedAccount(code: Extract<RefusalCode, `${string}sandbox_account`>, detail: string): Refusal {
  return new Refusal(code, `The account ${detail}.`, [{ pointer: '/destination/account', code, detail }]);
}

const { amount: MOST_UNFINISHED } = LIMITS.unfinishedSandboxTransfers;
const limit = new PostgresLimit('simulated transfers', LIMITS.sandboxTransfers);

/**
 * Checks the limits of a client, whose requests wait for each other until `tx` ends.
 * @throws Refusal sandbox_limit_reached
 */
export async function admitSandboxTransfer(tx: Handle, clientId: string, rules: SandboxRules): Promise<void> {
  await limit.consume(tx, clientId);
  if ((await countUnfinished(tx, MOST_UNFINISHED, clientId)) < MOST_UNFINISHED) return;
  const detail = `The client has ${MOST_UNFINISHED} unfinished simulated transfers; wait until some end.`;
  throw new Refusal('sandbox_limit_reached', detail, [], {
    retryAfter: Math.max(1, Math.ceil(rules.sandboxStep / 1_000)),
  });
}

interface SandboxRow {
  account: string;
  status: TransferStatus;
  stepsMade: number;
  ended: boolean;
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

/**
 * Registers the gauges of simulated transfers. They describe the whole environment. They are NaN while
 * Postgres cannot be read.
 * @param counted transfers that are counted, at most
 */
export function measureSandboxTransfers(registry: Registry, db: Handle, counted: number): void {
  const { gauge } = sharedGauges(registry, async () => ({
    waiting: await countWaiting(db, 'sandboxTransfer', counted),
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

/** @param clientId null: of all clients */
async function countUnfinished(db: Handle, limit: number, clientId: string | null): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    clientId === null ? UNFINISHED : UNFINISHED_OF_CLIENT,
    [limit, clientId].filter((value) => value !== null),
  );
  return row?.count ?? 0;
}

const UNFINISHED = `
select count(*)::int as count from (select from sandbox_transfers where ended_at is null limit $1::int) u`;
const UNFINISHED_OF_CLIENT = UNFINISHED.replace('where', 'where client_id = $2::uuid and');
