import type { Call, ChangeOptions, PostOptions } from '../operations.js';
import type { StatusChange, Transfer } from '../types.js';

/** What only the sandbox has; production responds with 404. */
export class Sandbox {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Changes the status of your own transfer, as the operator would. Scope: `transfers:write`. */
  setTransferStatus(id: string, change: StatusChange, options?: PostOptions & ChangeOptions): Promise<Transfer> {
    return this.#call('setSandboxTransferStatus', { path: { id }, body: change }, options);
  }
}
