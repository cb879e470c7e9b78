import type { List } from '../list.js';
import { listOf } from '../list-of.js';
import type { Call, CallOptions, ChangeOptions, PostOptions, QueryOf } from '../operations.js';
import type { NewTransfer, Transfer, TransferWithHistory } from '../types.js';

/** Payment orders. */
export class Transfers {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Creates a transfer. A repeat with the same `idempotencyKey` and body creates no second one, however late: it
   * resolves with the transfer. Scope: `transfers:write`.
   */
  create(transfer: NewTransfer, options?: PostOptions): Promise<Transfer> {
    return this.#call('createTransfer', { body: transfer }, options);
  }

  /** Lists transfers, newest first. Scope: `transfers:read`. */
  list(filters?: QueryOf<'listTransfers'>, options?: CallOptions): List<Transfer> {
    return listOf(this.#call, 'listTransfers', { query: filters }, options);
  }

  /** Reads a transfer with its status history. Scope: `transfers:read`. */
  get(id: string, options?: CallOptions): Promise<TransferWithHistory> {
    return this.#call('getTransfer', { path: { id } }, options);
  }

  /** Cancels a transfer that is still `CREATED`. Scope: `transfers:write`. */
  cancel(id: string, options?: PostOptions & ChangeOptions): Promise<Transfer> {
    return this.#call('cancelTransfer', { path: { id } }, options);
  }
}
