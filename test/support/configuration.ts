import { randomBytes } from 'node:crypto';
import { ConfigError } from '../../src/platform/config/config-error.js';

export const MASTER_KEY = randomBytes(32).toString('base64');
export const PASSWORD = 'hunter2-of-postgres';

/** The variables that a sandbox needs. */
export const SANDBOX = {
  ENVIRONMENT: 'sandbox',
  DATABASE_URL: `postgresql://app:${PASSWORD}@db.internal/app`,
  TEMPORAL_ADDRESS: 'temporal.internal:7233',
  MASTER_KEY,
};

/** The lines of the ConfigError that `read` throws; none if it throws nothing. */
export function linesOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.lines;
    throw error;
  }
  return [];
}
