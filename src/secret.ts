import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/**
 * A value that must not leave: it prints as `[redacted]` wherever it is turned into text (JSON, template literals,
 * `console.log`, pino, error messages). `reveal()` is the one way to the value, so that a search for it finds every use.
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
