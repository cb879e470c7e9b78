import type { Config } from '../config.js';
import type { Handle } from '../database/database.js';
import { lockInTransaction } from '../database/database.js';
import { SANDBOX_TRANSFERS_A_SECOND, SANDBOX_TRANSFERS_UNFINISHED } from '../limits.js';
import { Refusal, type RefusalCode } from '../refusal.js';
import { ACCOUNT_CODES, isSandboxAccount, SANDBOX_ACCOUNTS, sandboxSteps } from './sandbox-accounts.js';

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

/**
 * Checks the limits of a client, whose requests wait for each other until `tx` ends.
 * @throws Refusal sandbox_limit_reached
 */
export async function admitSandboxTransfer(tx: Handle, clientId: string, rules: SandboxRules): Promise<void> {
  await lockInTransaction(tx, `sandbox transfers of ${clientId}`);
  const limits = [SANDBOX_TRANSFERS_A_SECOND, SANDBOX_TRANSFERS_UNFINISHED];
  const [row] = await tx.query<{ latest: number; unfinished: number }>(COUNT, [clientId, ...limits]);
  if (row && row.unfinished >= SANDBOX_TRANSFERS_UNFINISHED) {
    const detail = `${SANDBOX_TRANSFERS_UNFINISHED} transfers that move by themselves are unfinished; wait until some end.`;
    throw new Refusal('sandbox_limit_reached', detail, [], {
      retryAfter: Math.max(1, Math.ceil(rules.sandboxStep / 1_000)),
    });
  }
  if (row && row.latest >= SANDBOX_TRANSFERS_A_SECOND) {
    const detail = `At most ${SANDBOX_TRANSFERS_A_SECOND} transfers that move by themselves may be created in a second.`;
    throw new Refusal('sandbox_limit_reached', detail, [], { retryAfter: 1 });
  }
}

/** `clock_timestamp()`: the transaction may have waited for another one, whose row is newer than `now()`. */
const COUNT = `
select (select count(*)::int from (
          select from sandbox_transfers
           where client_id = $1::uuid and created_at > clock_timestamp() - interval '1 second' limit $2::int) l) as latest,
       (select count(*)::int from (
          select from sandbox_transfers where client_id = $1::uuid and ended_at is null limit $3::int) u) as unfinished`;
