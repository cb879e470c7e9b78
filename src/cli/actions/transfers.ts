import { notifyHandover } from '../../delivery/notifications.js';
import { presentTransfer } from '../../http/schemas/transfer.js';
import { personHere } from '../../platform/audit.js';
import { ConfigError } from '../../platform/config/config-error.js';
import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { changeStatus } from '../../transfers/change-status.js';
import { expireTransfers } from '../../transfers/expire-transfers.js';
import { type ReasonCode, STATUSES_WITH_REASON_CODE, takesReasonCode } from '../../transfers/states.js';
import type { Command, CommandResult } from '../command.js';
import { withDatabase } from '../with-database.js';

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
  const transfer = await withDatabase(async (database, environment) => {
    // This process has no dispatcher: it notifies the workers.
    const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
    const request = { transferId, by: { actor: personHere() }, to, reason, reasonCode };
    const changed = await changeStatus(database, handover, request);
    await handover.flush();
    return changed;
  });
  const { id, status, reason_code, updated_at } = presentTransfer(transfer);
  return {
    json: { id, client_id: transfer.clientId, status, reason_code, updated_at },
    text: `transfer ${transfer.id} is ${transfer.status}`,
  };
}

/** `transfers expire` */
export async function expire(): Promise<CommandResult> {
  const removed = await withDatabase((database, { TRANSFER_RETENTION: retention }) => {
    if (retention === undefined) {
      throw new ConfigError(['TRANSFER_RETENTION: is not set, so transfers are kept; give a duration such as 3650d']);
    }
    return expireTransfers(database, { actor: personHere() }, retention);
  });
  return { json: { removed }, text: `removed: ${removed} transfers` };
}
