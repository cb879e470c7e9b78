import { z } from 'zod';
import type { PublicEndpoint, Signatures } from '../../endpoints/endpoints.js';
import { COUNTED_PENDING, type EndpointHealth } from '../../endpoints/health.js';
import { Secret } from '../../platform/secret.js';
import {
  ATTEMPT_ERRORS,
  DISABLED_REASONS,
  MAX_CONCURRENCY,
  MAX_HEADERS,
  MAX_PER_SECOND,
} from '../../platform/vocabulary.js';
import { count, present, requestBody, text, time, uuid, validationError, view } from './fields.js';

const url = z.string().meta({
  description:
    'An absolute URL of at most 2048 characters, without credentials or a fragment; `https:` in production. Path and query are sent byte for byte; what a client would rewrite is rejected (`url_not_canonical`). An IP address in it must be public, except in a sandbox on your own machine.',
  format: 'uri',
  maxLength: 2048,
  examples: ['https://example.com/hooks'],
});
const description = z.nullable(text({ max: 255 })).meta({ examples: ['Orders, live'] });

/**
 * The bytes of the HMAC key: printable ASCII, not trimmed. A secret of spaces only is refused, because it is easily
 * guessed.
 */
export const endpointSecret = z
  .string()
  .refine(
    (value) => /^[\x20-\x7e]*$/.test(value),
    validationError('invalid_secret', 'must be printable ASCII (0x20 to 0x7E)'),
  )
  .refine((value) => value.length >= 16, validationError('too_short', 'must have at least 16 characters'))
  .refine((value) => value.length <= 256, validationError('too_long', 'may have at most 256 characters'))
  .refine((value) => !/^ {16,}$/.test(value), validationError('invalid_secret', 'must not consist of spaces only'))
  // Not of spaces only, in a form that RE2 knows: Go and Rust have no look-ahead.
  .meta({ pattern: '^[ -~]*[!-~][ -~]*$', minLength: 16, maxLength: 256 });
const secret = endpointSecret.meta({
  description: 'The key that signs the deliveries. It is never returned and cannot be changed.',
  pattern: '^[ -~]*[!-~][ -~]*$',
  minLength: 16,
  maxLength: 256,
  writeOnly: true,
  examples: ['5up3r-s3cr3t-0f-y0ur-0wn'],
});

const maxConcurrency = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(MAX_CONCURRENCY, `may be at most ${MAX_CONCURRENCY}`)
  .nullable()
  .meta({
    description: 'Maximum number of concurrent requests to the receiver. Null: the limit of the service.',
    examples: [10],
  });

const maxPerSecond = z
  .int('must be a whole number')
  .min(1, 'must be at least 1')
  .max(MAX_PER_SECOND, `may be at most ${MAX_PER_SECOND}`)
  .nullable()
  .meta({
    description: 'Maximum number of requests to the receiver that start within a second. Null: no limit.',
    examples: [null],
  });

const signatures = z
  .array(z.enum(['standard']))
  .max(1, 'may have one item at most')
  .meta({
    description:
      'Signatures beside `Service-Signature`, by the same secret. `standard`: the headers of [Standard Webhooks](https://www.standardwebhooks.com).',
    examples: [[]],
  });

const headerName = z
  .string()
  .refine((value) => value.length >= 1, validationError('too_short', 'must have at least 1 character'))
  .refine((value) => value.length <= 64, validationError('too_long', 'may have at most 64 characters'))
  .refine(
    (value) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]*$/.test(value),
    validationError('invalid_header_name', "must be a token: letters, digits and !#$%&'*+-.^_`|~"),
  )
  .meta({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", minLength: 1, maxLength: 64, examples: ['X-Api-Key'] });

const headerValue = z
  .string()
  .refine((value) => value.length >= 1, validationError('too_short', 'must have at least 1 character'))
  .refine((value) => value.length <= 1_024, validationError('too_long', 'may have at most 1024 characters'))
  .refine(
    (value) => /^(?! )[ -~]*(?<! )$/.test(value),
    validationError('invalid_header_value', 'must be visible ASCII and spaces, without a space at an end'),
  )
  .meta({
    description: 'Encrypted, and never returned.',
    pattern: '^[!-~]([ -~]*[!-~])?$',
    minLength: 1,
    maxLength: 1_024,
    writeOnly: true,
    examples: ['k-5up3r-s3cr3t'],
  })
  .transform((value) => new Secret(value));

const headersOf = <Header extends z.ZodType>(header: Header) =>
  z.array(header).max(MAX_HEADERS, `may have at most ${MAX_HEADERS} items`);

const newHeaders = headersOf(requestBody('WebhookEndpointHeaderCreate', { name: headerName, value: headerValue })).meta(
  {
    description:
      'Headers that each attempt and check carries, such as the API key that a gateway asks for. Rejected (`header_not_allowed`): names of the connection, of the delivery, of signatures and traces, and one name twice.',
  },
);

const changedHeaders = headersOf(
  requestBody('WebhookEndpointHeaderUpdate', {
    name: headerName,
    value: headerValue.optional().meta({ description: 'If omitted, the stored value stays.' }),
  }),
).meta({ description: 'Replace the headers.' });

export const newEndpoint = requestBody('WebhookEndpointCreate', {
  url,
  secret,
  description: description.default(null),
  max_concurrency: maxConcurrency.default(null),
  max_per_second: maxPerSecond.default(null),
  signatures: signatures.default([]),
  headers: newHeaders.default([]),
  enabled: z.boolean().default(true),
});

const ignored = z.unknown().optional().meta({ description: 'Ignored.' });

/** The fields that no change has. The response of a GET may be sent back unchanged; a secret is rejected. */
const unchangeable = {
  secret: z
    .unknown()
    .refine(
      (value) => value === undefined,
      validationError('secret_immutable', 'cannot be changed; register a new endpoint'),
    )
    .optional()
    .meta({
      not: {},
      description:
        'Rejected. To change the secret, register a new endpoint with the new secret and delete the old endpoint.',
    }),
  webhookId: ignored,
  disabled_reason: ignored,
  created_at: ignored,
  updated_at: ignored,
};

export const endpointUpdate = requestBody('WebhookEndpointUpdate', {
  url,
  description: description.default(null),
  max_concurrency: maxConcurrency.default(null),
  max_per_second: maxPerSecond.default(null),
  signatures: signatures.default([]),
  headers: changedHeaders.default([]),
  enabled: z.boolean().optional().meta({ description: 'Unchanged if omitted.' }),
  ...unchangeable,
});

/** A list of a merge patch: null clears it. */
const cleared = <Item extends z.ZodType>(list: z.ZodArray<Item>) =>
  list
    .nullable()
    .transform((given) => given ?? [])
    .optional();

export const endpointPatch = requestBody('WebhookEndpointPatch', {
  url: url.optional(),
  description: description.optional(),
  max_concurrency: maxConcurrency.optional(),
  max_per_second: maxPerSecond.optional(),
  signatures: cleared(signatures),
  headers: cleared(changedHeaders),
  enabled: z.boolean().optional(),
  ...unchangeable,
});

/** A webhook endpoint as the API shows it. Its secret is never shown. */
export const endpointView = view('WebhookEndpoint', {
  webhookId: uuid,
  url: z.string().meta({ description: 'As registered.', examples: ['https://example.com/hooks'] }),
  description: z.nullable(z.string()).meta({ examples: ['Orders, live'] }),
  max_concurrency: maxConcurrency,
  max_per_second: maxPerSecond,
  signatures,
  headers: headersOf(view('WebhookEndpointHeader', { name: z.string().meta({ examples: ['X-Api-Key'] }) })).meta({
    description: 'The headers that its owner adds to each request; their values are never returned.',
  }),
  enabled: z.boolean(),
  disabled_reason: z.nullable(z.enum(DISABLED_REASONS)).meta({
    description:
      'What disabled the endpoint: your own update (`owner`), the operator (`operator`), a 410 response of the receiver (`gone`), or days without a successful delivery (`failing`). Null if enabled.',
    examples: [null],
  }),
  created_at: time,
  updated_at: time,
});

/** How the attempts at an endpoint went lately, as the console shows it. */
export const endpointHealthView = view('WebhookEndpointHealth', {
  webhookId: uuid,
  last_success_at: time.nullable(),
  last_failure_at: time.nullable().meta({ description: 'The latest failed attempt of the last 48 hours.' }),
  last_error: z.nullable(z.enum(ATTEMPT_ERRORS)).meta({ description: 'Of the latest failure.', examples: [null] }),
  last_response_status: z.nullable(z.int().min(100).max(999)).meta({
    description: 'Of the latest failure; null if there was no response.',
    examples: [null],
  }),
  failing_since: time.nullable().meta({
    description: 'The first failed attempt after the latest success; null if the latest attempt succeeded.',
  }),
  pending: count.meta({
    description: `Pending deliveries, counted up to ${COUNTED_PENDING + 1}, which means more than ${COUNTED_PENDING}.`,
  }),
  next_attempt_at: time.nullable().meta({ description: 'Null if no delivery is pending.' }),
  slowed_until: time.nullable().meta({
    description:
      'The receiver asked for a pause (`Retry-After` of a 429 or 503): until then, it gets one request at a time. Null: it did not.',
  }),
  attempts_24h: view('AttemptCounts', { succeeded: count, failed: count }).meta({
    description: 'Attempts of the current hour and the 23 before it.',
  }),
  response_ms_24h: view('ResponseTimes', { p50: count.nullable(), p95: count.nullable() }).meta({
    description: 'Time to the response in these hours; null if there was none.',
  }),
});

export function presentEndpointHealth(webhookId: string, health: EndpointHealth) {
  const { lastFailure, pending, succeeded, failed, answerTime } = health;
  return present(endpointHealthView, {
    ...health,
    webhookId,
    lastFailureAt: lastFailure?.at ?? null,
    lastError: lastFailure?.error ?? null,
    lastResponseStatus: lastFailure?.responseStatus ?? null,
    pending: pending.count + (pending.more ? 1 : 0),
    nextAttemptAt: pending.nextAttemptAt,
    attempts24h: { succeeded, failed },
    responseMs24h: answerTime ?? { p50: null, p95: null },
  });
}

export function presentEndpoint(endpoint: PublicEndpoint) {
  return present(endpointView, {
    ...endpoint,
    webhookId: endpoint.id,
    signatures: endpoint.signatures as Signatures,
    headers: endpoint.headerNames.map((name) => ({ name })),
  });
}
