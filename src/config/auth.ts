import { z } from 'zod';
import { Secret } from '../secret.js';
import { DAY, durationWithin, SECOND } from './forms.js';
import { secretSetting, setting } from './setting.js';

const masterKey = z.string().transform((text, context) => {
  const bytes = Buffer.from(text, 'base64');
  // Node skips characters that are not base64 and stops at the padding, so a truncated or concatenated key would pass.
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) {
    context.addIssue({ code: 'custom', message: 'give 32 bytes in base64 (openssl rand -base64 32)' });
    return z.NEVER;
  }
  return new Secret<Uint8Array>(bytes);
});

/** Keys and tokens. */
export const authSettings = {
  MASTER_KEY: secretSetting(masterKey, '32 bytes in base64 that encrypt the secrets at rest.'),
  MASTER_KEY_PREVIOUS: secretSetting(masterKey, 'The previous master key, until `keys rotate-master` has finished.'),
  ACCESS_TOKEN_LIFETIME: setting(durationWithin(SECOND, DAY), '1h', 'Lifetime of an access token.'),
} as const;
