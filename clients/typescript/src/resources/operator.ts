import type { List } from '../list.js';
import { listOf } from '../list-of.js';
import type { Call, CallOptions, PostOptions, QueryOf } from '../operations.js';
import type { OperatorTransfer, OperatorTransferWithHistory, StatusChange, Transfer } from '../types.js';

/** For the operator's own systems, with a scope `operator…`. */
export class Operator {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Lists the transfers of all clients. `{ status: 'CREATED', order: 'oldest' }` is the work list of a payment rail: read
   * its first `page()` again in each round. Scope: `operator:transfers`.
   */
  listTransfers(filters?: QueryOf<'listOperatorTransfers'>, options?: CallOptions): List<OperatorTransfer> {
    return listOf(this.#call, 'listOperatorTransfers', { query: filters }, options);
  }

  /** Reads a transfer of any client, with its status history. Scope: `operator:transfers`. */
  getTransfer(id: string, options?: CallOptions): Promise<OperatorTransferWithHistory> {
    return this.#call('getOperatorTransfer', { path: { id } }, options);
  }

  /**
   * Changes the status of any client's transfer. `PROCESSING` claims it: another worker gets `invalid_transition`.
   * Scope: `operator:transfers`.
   */
  setTransferStatus(id: string, change: StatusChange, options?: PostOptions): Promise<Transfer> {
    return this.#call('setTransferStatus', { path: { id }, body: change }, options);
  }
}
