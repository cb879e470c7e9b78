import { z } from 'zod';
import { components } from '../openapi/components.js';
import { text, validationError } from './text.js';

const url = z.string().meta({
  description:
    'Absolute, at most 2048 characters, with no credentials and no fragment; `https:` in production. A literal address must be a public one.',
  format: 'uri',
  maxLength: 2048,
  examples: ['https://example.com/hooks'],
});
const description = text({ max: 255 })
  .nullable()
  .default(null)
  .meta({ examples: ['Orders, live'] });

/** The HMAC key: its bytes. Printable ASCII, not trimmed, and not blanks alone, which anybody would try first. */
const secret = z
  .string()
  .refine(
    (value) => /^[\x20-\x7e]*$/.test(value),
    validationError('invalid_secret', 'must be printable ASCII (0x20 to 0x7E)'),
  )
  .refine((value) => value.length >= 16, validationError('too_short', 'must have at least 16 characters'))
  .refine((value) => value.length <= 256, validationError('too_long', 'may have at most 256 characters'))
  .refine((value) => !/^ {16,}$/.test(value), validationError('invalid_secret', 'must not consist of blanks alone'))
  .meta({
    description: 'Signs the deliveries. It is never returned and never changes.',
    pattern: '^(?! *$)[ -~]{16,256}$',
    minLength: 16,
    maxLength: 256,
    writeOnly: true,
    examples: ['5up3r-s3cr3t-0f-y0ur-0wn'],
  });

export const newEndpoint = z
  .strictObject({ url, secret, description, enabled: z.boolean().default(true) })
  .register(components, { id: 'NewWebhookEndpoint' });

const ignored = z.unknown().optional().meta({ description: 'Ignored.' });

/** A GET's answer may be sent back as it came; a secret may not come at all. */
export const endpointUpdate = z
  .strictObject({
    url,
    description,
    enabled: z.boolean().optional().meta({ description: 'Left out: stays as it is.' }),
    secret: z
      .unknown()
      .refine(
        (value) => value === undefined,
        validationError('secret_immutable', 'never changes: register a new endpoint'),
      )
      .optional()
      .meta({ not: {}, description: 'Refused: register a new endpoint with another secret and switch over.' }),
    webhookId: ignored,
    disabled_reason: ignored,
    created_at: ignored,
    updated_at: ignored,
  })
  .register(components, { id: 'WebhookEndpointUpdate' });
