import { z } from 'zod';
import { ConfigError } from '../config-error.js';
import { sourceVariables, withSecrets } from '../secret-sources.js';
import { authSettings } from './auth.js';
import { databaseSettings } from './database.js';
import { deliverySettings } from './deliveries.js';
import { httpSettings } from './http.js';
import { limitSettings } from './limits.js';
import { localSettings } from './local.js';
import { type Setting, setting, type Values } from './setting.js';
import { telemetrySettings } from './telemetry.js';
import { temporalSettings } from './temporal.js';

/** Every environment variable, by topic. The README's table is made from this. */
export const settings = {
  ENVIRONMENT: setting(
    z.enum(['sandbox', 'production'], { error: 'give sandbox or production' }),
    undefined,
    'Kind of this deployment: `sandbox` or `production`. Required with `DATABASE_URL`; the embedded stack is `sandbox`.',
  ),
  ...databaseSettings,
  ...temporalSettings,
  ...httpSettings,
  ...authSettings,
  ...deliverySettings,
  ...limitSettings,
  ...telemetrySettings,
  ...localSettings,
} as const;

/** The settings whose values are secrets. */
export const SECRETS: readonly string[] = Object.entries(settings)
  .filter(([, { secret }]) => secret)
  .map(([name]) => name);

/** The parsed variables by name. Variables without a default may be undefined. */
export type Environment = Values<typeof settings>;

/** Parses each variable on its own. An empty variable counts as unset. @throws ConfigError */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const { env: given, lines } = withSecrets(env, SECRETS);
  const values: Record<string, unknown> = {};
  for (const [name, { form, byDefault }] of Object.entries<Setting>(settings)) {
    const text = given[name] || byDefault;
    if (text === undefined) {
      values[name] = undefined;
      continue;
    }
    const result = form.safeParse(text);
    if (result.success) values[name] = result.data;
    else {
      const variable = [name, ...sourceVariables(name)].find((one) => env[one]) ?? name;
      lines.push(`${variable}: ${result.error.issues[0]?.message ?? 'is invalid'}`);
    }
  }
  if (lines.length > 0) throw new ConfigError(lines);
  return values as Environment;
}
