/**
 * An invalid configuration. Each line names a variable and its valid values, and never contains the value of a secret.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly lines: readonly string[]) {
    super(lines.join('\n'));
  }
}
