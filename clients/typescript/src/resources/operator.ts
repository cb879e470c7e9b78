import type { Call, PostOptions } from '../operations.js';
import type { StatusChange, Transfer } from '../types.js';

/** For the operator's own systems, with the scope `operator`. */
export class Operator {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Changes the status of any client's transfer. Scope: `operator`. */
  setTransferStatus(id: string, change: StatusChange, options?: PostOptions): Promise<Transfer> {
    return this.#call('setTransferStatus', { path: { id }, body: change }, options);
  }
}
