import type { TransferStatus } from '../database/generated/enums.js';
import { REASON_CODES, type ReasonCode } from './reason-codes.js';

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
