import { notifyHandover } from '../../delivery/notifications.js';
import { presentTransfer } from '../../http/schemas/transfer.js';
import { ConfigError } from '../../platform/config/config-error.js';
import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { changeStatus } from '../../transfers/change-status.js';
import { expireTransfers } from '../../transfers/expire-transfers.js';
import { type ReasonCode, STATUSES_WITH_REASON_CODE, takesReasonCode } from '../../transfers/states.js';
import type { Command, CommandResult } from '../command.js';
import { onDatabase } from '../with-database.js';

/** `transfers set-status` */
export async function setStatus(
  transferId: string,
  to: TransferStatus,
  options: { reason?: string; reasonCode?: ReasonCode },
  command: Command,
): Promise<CommandResult> {
  const { reason = null, reasonCode = null } = options;
  if (reasonCode !== null && !takesReasonCode(to)) {
    command.error(`error: --reason-code may be given only with ${STATUSES_WITH_REASON_CODE.join(', ')}`);
  }
  return onDatabase(async ({ database, environment, actor }) => {
    // This process has no dispatcher: it notifies the workers.
    const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
    const request = { transferId, by: { actor }, to, reason, reasonCode };
    const transfer = await changeStatus(database, handover, request);
    await handover.flush();
    const { id, status, reason_code, updated_at } = presentTransfer(transfer);
    return {
      json: { id, client_id: transfer.clientId, status, reason_code, updated_at },
      text: `transfer ${id} is ${status}`,
    };
  })();
}

/** `transfers expire` */
export const expire = onDatabase(async ({ database, environment, actor }) => {
  const { TRANSFER_RETENTION: retention } = environment;
  if (retention === undefined) {
    throw new ConfigError(['TRANSFER_RETENTION: is not set, so transfers are kept; give a duration such as 3650d']);
  }
  const removed = await expireTransfers(database, { actor }, retention);
  return { json: { removed }, text: `removed: ${removed} transfers` };
});
