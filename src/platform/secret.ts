import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that must not be printed: every conversion to text gives `[redacted]` (JSON, template literals,
 * `console.log`, pino, error messages). `reveal()` is the only way to the value, so that a search for it finds every
 * use.
 */
export class Secret<T extends string | Uint8Array = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
