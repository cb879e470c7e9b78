import type { List } from '../list.js';
import { listOf } from '../list-of.js';
import type {
  Arguments,
  Call,
  CallOptions,
  ChangeOptions,
  OperationId,
  PostOptions,
  QueryOf,
  ResultOf,
} from '../operations.js';
import type { Client, OperatorTransfer, OperatorTransferWithHistory, StatusChange, Transfer } from '../types.js';

type Body<Id extends OperationId> = NonNullable<Arguments<Id>['body']>;

/** For the operator's own systems, with a scope `operator…`. */
export class Operator {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Lists the transfers of all clients. `{ status: 'CREATED', order: 'oldest' }` is the work list of a payment rail:
   * read its first `page()` again in each round. Scope: `operator:transfers`.
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
  setTransferStatus(id: string, change: StatusChange, options?: PostOptions & ChangeOptions): Promise<Transfer> {
    return this.#call('setTransferStatus', { path: { id }, body: change }, options);
  }

  /**
   * Creates a client. Its secret is in this result only: a try whose response is lost is not repeated, since each try
   * makes another client. Scope: `operator:clients`.
   */
  createClient(client: Body<'createClient'>, options?: CallOptions): Promise<ResultOf<'createClient'>> {
    return this.#call('createClient', { body: client }, options);
  }

  /** Lists clients, newest first. Scope: `operator:clients`. */
  listClients(filters?: QueryOf<'listClients'>, options?: CallOptions): List<Client> {
    return listOf(this.#call, 'listClients', { query: filters }, options);
  }

  /** Reads a client. Scope: `operator:clients`. */
  getClient(id: string, options?: CallOptions): Promise<Client> {
    return this.#call('getClient', { path: { id } }, options);
  }

  /** Changes fields of a client; what is left out stays. Scope: `operator:clients`. */
  patchClient(id: string, patch: Body<'patchClient'>, options?: ChangeOptions): Promise<Client> {
    return this.#call('patchClient', { path: { id }, body: patch }, options);
  }

  /** Gives a client a further secret, which is in this result only. Scope: `operator:clients`. */
  createClientSecret(
    id: string,
    wanted: Body<'createClientSecret'> = {},
    options?: ChangeOptions,
  ): Promise<ResultOf<'createClientSecret'>> {
    return this.#call('createClientSecret', { path: { id }, body: wanted }, options);
  }

  /** Replaces the public keys that authenticate a client (`private_key_jwt`). Scope: `operator:clients`. */
  setClientKeys(id: string, set: Body<'setClientKeys'>, options?: ChangeOptions): Promise<ResultOf<'setClientKeys'>> {
    return this.#call('setClientKeys', { path: { id }, body: set }, options);
  }

  /** Revokes a secret and its tokens. Scope: `operator:clients`. */
  async revokeClientSecret(id: string, secretId: string, options?: ChangeOptions): Promise<void> {
    await this.#call('revokeClientSecret', { path: { id, secret_id: secretId } }, options);
  }

  /** Revokes a client permanently. Scope: `operator:clients`. */
  async revokeClient(id: string, options?: PostOptions & ChangeOptions): Promise<void> {
    await this.#call('revokeClient', { path: { id } }, options);
  }

  /** Makes a sign-in link to a client's console, as `consoleSessions.create` does. Scope: `operator:clients`. */
  createConsoleSession(
    id: string,
    wanted: Body<'createClientConsoleSession'> = {},
    options?: CallOptions,
  ): Promise<ResultOf<'createClientConsoleSession'>> {
    return this.#call('createClientConsoleSession', { path: { id }, body: wanted }, options);
  }
}
