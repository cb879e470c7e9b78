import { z } from 'zod';
import { CLIENT_SCOPES } from '../../auth/caller.js';
import type { ClientWithSecrets } from '../../auth/clients.js';
import { hostOf } from '../../endpoints/url.js';
import type { Client } from '../../platform/database/generated/client.js';
import { parseDuration } from '../../platform/duration.js';
import { isNetwork } from '../../platform/networks.js';
import { ENDPOINT_LIMITS, RATE_LIMITS } from '../../platform/vocabulary.js';
import { endpointSecret } from './endpoint.js';
import { present, requestBody, text, time, uuid, validationError, view } from './fields.js';

const name = text({ min: 1, max: 255 })
  .refine((value) => value === '' || value.trim() !== '', validationError('too_short', 'must not be blank'))
  .meta({ examples: ['Acme'] });
const networks = z
  .array(z.string().refine((value) => isNetwork(value), validationError('invalid_network', 'must be a CIDR')))
  .meta({ description: 'CIDRs that the client may call from; empty: any address.', examples: [['203.0.113.0/24']] });

const limit = ({ min, max }: { min: number; max: number }, setting: string) =>
  z
    .int('must be a whole number')
    .min(min, `must be at least ${min}`)
    .max(max, `may be at most ${max}`)
    .nullable()
    .meta({ description: `Null: \`${setting}\` of the deployment.`, examples: [null] });
const limits = {
  rate_limit: limit(RATE_LIMITS, 'RATE_LIMIT'),
  max_endpoints: limit(ENDPOINT_LIMITS, 'MAX_ENDPOINTS'),
};

const notify = {
  notify_url: z
    .string()
    .nullable()
    .optional()
    .meta({
      description:
        'Where the client is told about its endpoints; an endpoint’s URL has the same rules. Never returned.',
      format: 'uri',
      examples: ['https://example.com/notifications'],
    }),
  notify_secret: endpointSecret
    .nullable()
    .optional()
    .meta({
      description: 'The key that signs the notifications; required with `notify_url`. Never returned.',
      writeOnly: true,
      examples: ['5up3r-s3cr3t-0f-y0ur-0wn'],
    }),
};

export const newOperatorClient = requestBody('OperatorClientCreate', {
  name,
  scopes: z
    .array(z.enum(CLIENT_SCOPES))
    .min(1, 'must have a scope')
    .optional()
    .meta({ description: 'All four if omitted.', examples: [['transfers:read']] }),
  networks: networks.default([]),
  rate_limit: limits.rate_limit.default(null),
  max_endpoints: limits.max_endpoints.default(null),
  ...notify,
});

export const operatorClientPatch = requestBody('ClientPatch', {
  name: name.optional(),
  networks: networks.optional(),
  rate_limit: limits.rate_limit.optional(),
  max_endpoints: limits.max_endpoints.optional(),
  ...notify,
});

export const newSecret = requestBody('ClientSecretCreate', {
  expire_old_after: z
    .string()
    .refine(
      (value) => parseDuration(value) !== undefined,
      validationError('invalid_duration', 'must be a duration such as 30s, 24h or 7d'),
    )
    .optional()
    .meta({ description: 'When the old secret expires; never if omitted.', examples: ['24h'] }),
});

const clientSecret = z
  .string()
  .meta({ description: 'Shown in this response only.', examples: ['a-secret-of-43-characters'] });

export const issuedSecretView = view('IssuedClientSecret', { secret_id: uuid, client_secret: clientSecret });

const ends = z.nullable(time).meta({ examples: [null] });
const secretView = view('ClientSecret', { secret_id: uuid, created_at: time, expires_at: ends, revoked_at: ends });

export const operatorClientView = view('OperatorClient', {
  client_id: uuid,
  name: z.string().meta({ examples: ['Acme'] }),
  scopes: z.array(z.string()).meta({ examples: [[...CLIENT_SCOPES]] }),
  networks: z.array(z.string()).meta({ examples: [['203.0.113.0/24']] }),
  ...limits,
  notify_host: z.nullable(z.string()).meta({
    description: 'The host of `notify_url`; null if the client is told nothing.',
    examples: [null],
  }),
  created_at: time,
  revoked_at: ends,
  secrets: z.array(secretView).meta({ description: 'Oldest first, with those that have ended.' }),
});

export const createdClientView = view('CreatedClient', {
  ...operatorClientView.shape,
  secret_id: uuid,
  client_secret: clientSecret,
});

/** The fields of a client that views are made of. */
export const shownClient = (client: Client) => ({
  ...client,
  clientId: client.id,
  notifyHost: client.notifyUrl && hostOf(client.notifyUrl),
});

export function presentOperatorClient(client: ClientWithSecrets) {
  const secrets = client.secrets.map((secret) => present(secretView, { ...secret, secretId: secret.id }));
  return present(operatorClientView, { ...shownClient(client), secrets });
}
