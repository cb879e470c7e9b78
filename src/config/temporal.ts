import { z } from 'zod';
import { ConfigError } from '../config-error.js';
import type { Secret } from '../secret.js';
import { readTemporalTls, type TemporalTls } from '../temporal-tls.js';
import { DAY, durationWithin, flag, SECOND, secretText } from './forms.js';
import { secretSetting, setting, type Values } from './setting.js';

/** How to connect to Temporal. */
export interface TemporalConfig {
  /** host:port */
  address: string;
  namespace: string;
  /** Of ended workflows, ms. */
  retention: number;
  tls: TemporalTls | false;
  apiKey: Secret | undefined;
}

const address = z
  .string()
  .refine(
    (text) => /^([^\s:/]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/.test(text) && URL.canParse(`http://${text}`),
    'give host:port, such as temporal.internal:7233',
  );

/** Temporal. The names of its TLS variables are Temporal's own. */
export const temporalSettings = {
  TEMPORAL_ADDRESS: setting(address, undefined, "Temporal's frontend, host:port. Unset: the embedded stack."),
  TEMPORAL_NAMESPACE: setting(
    z.string().regex(/^[A-Za-z0-9._-]{2,100}$/, 'give 2 to 100 letters, digits, dots, underscores or dashes'),
    'transfer-service',
    'Temporal namespace. Each environment needs its own.',
  ),
  TEMPORAL_RETENTION: setting(
    durationWithin(3_600 * SECOND, 3_650 * DAY),
    '30d',
    "Retention of the namespace: how long Temporal's UI shows an ended workflow. `migrate` sets it.",
  ),
  TEMPORAL_TLS: setting(flag, 'false', 'Connect to Temporal with TLS. The variables below imply it.'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: setting(
    z.string(),
    undefined,
    "PEM file of the CA of Temporal's certificate. Unset: the system's CAs.",
  ),
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: setting(secretText, undefined, 'The same, as the content of the file.'),
  TEMPORAL_TLS_SERVER_NAME: setting(
    z.string().regex(/^[A-Za-z0-9.-]{1,253}$/, 'give a host name, such as temporal.internal'),
    undefined,
    "Name in Temporal's certificate. Unset: the host of `TEMPORAL_ADDRESS`.",
  ),
  TEMPORAL_TLS_CLIENT_CERT_PATH: setting(z.string(), undefined, 'PEM file of the client certificate (mTLS).'),
  TEMPORAL_TLS_CLIENT_CERT_DATA: setting(secretText, undefined, 'The same, as the content of the file.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: setting(z.string(), undefined, "PEM file of the client certificate's private key."),
  TEMPORAL_TLS_CLIENT_KEY_DATA: setting(secretText, undefined, 'The same, as the content of the file.'),
  TEMPORAL_API_KEY: secretSetting(secretText, 'API key that Temporal asks for.'),
} as const;

/** The connection settings for Temporal at `address`. @throws ConfigError */
export function temporalAt(address: string, read: Values<typeof temporalSettings>): TemporalConfig {
  const lines: string[] = [];
  const temporal = temporalFrom(address, read, lines);
  if (lines.length > 0) throw new ConfigError(lines);
  return temporal;
}

/** Like `temporalAt`. Validation errors are added to `lines`. */
export function temporalFrom(address: string, read: Values<typeof temporalSettings>, lines: string[]): TemporalConfig {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_RETENTION: retention, TEMPORAL_API_KEY: apiKey } = read;
  const { tls, lines: errors } = readTemporalTls(read);
  lines.push(...errors);
  return { address, namespace, retention, tls, apiKey };
}
