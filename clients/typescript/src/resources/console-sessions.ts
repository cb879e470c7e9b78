import type { Arguments, Call, CallOptions, ResultOf } from '../operations.js';

/** Links to the console, where people see and repair deliveries. */
export class ConsoleSessions {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * Makes a link that signs somebody in once, within 5 minutes; as a `viewer` unless `role` is `editor`. The link is a
   * secret. A try whose response is lost is not repeated, since each try makes another link.
   */
  create(
    wanted: NonNullable<Arguments<'createConsoleSession'>['body']> = {},
    options?: CallOptions,
  ): Promise<ResultOf<'createConsoleSession'>> {
    return this.#call('createConsoleSession', { body: wanted }, options);
  }
}
