import { z } from 'zod';
import { CLIENT_SCOPES } from '../../auth/caller.js';
import { type Fault, findSetFault, MAX_CLIENT_KEYS, type NewClientKey, readClientKey } from '../../auth/client-keys.js';
import type { ClientWithSecrets } from '../../auth/clients.js';
import { hostOf } from '../../endpoints/url.js';
import type { Client } from '../../platform/database/generated/client.js';
import { parseDuration } from '../../platform/duration.js';
import { isNetwork } from '../../platform/networks.js';
import { ENDPOINT_LIMITS, RATE_LIMITS } from '../../platform/vocabulary.js';
import { etagOf } from '../etag.js';
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
const requirePrivateKey = z.boolean().meta({
  description: 'The secrets of the client are refused, also at the console: only its keys authenticate it.',
  examples: [false],
});
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
  require_private_key: requirePrivateKey.default(false),
});

export const operatorClientPatch = requestBody('ClientPatch', {
  name: name.optional(),
  networks: networks.optional(),
  rate_limit: limits.rate_limit.optional(),
  max_endpoints: limits.max_endpoints.optional(),
  ...notify,
  require_private_key: requirePrivateKey.optional(),
});

function addFault(context: z.RefinementCtx, { member, code, detail }: Fault, path: PropertyKey[]): void {
  const at = member === '' ? path : [...path, member];
  context.addIssue({ code: 'custom', params: { code }, message: detail, path: at });
}

const KEY_EXAMPLE = { kty: 'OKP', crv: 'Ed25519', kid: '2026-11', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };

/** A JWK set (RFC 7517 §5). zod shows an example for the input only if it is set before the transform. */
export const jwkSet = requestBody('ClientKeySet', {
  keys: z
    .array(z.record(z.string(), z.unknown()))
    .max(MAX_CLIENT_KEYS, `may have at most ${MAX_CLIENT_KEYS} keys`)
    .meta({
      description:
        'Replaces all keys of the client by these public ones (RFC 7517): RSA of at least 2048 bits, P-256 or Ed25519. Of several, each has a `kid` of its own; `[]` removes all. An `alg` (RS256, PS256, ES256, EdDSA) is then the only one of its key. Members such as `x5c` are ignored.',
      examples: [[KEY_EXAMPLE]],
    })
    .transform((jwks, context) => {
      const read = jwks.map((jwk) => readClientKey(jwk));
      const keys = read.filter((key): key is NewClientKey => !('member' in key));
      for (const [index, key] of read.entries()) if ('member' in key) addFault(context, key, [index]);
      const wrong = keys.length === read.length ? findSetFault(keys) : undefined;
      if (wrong) addFault(context, wrong, [wrong.index]);
      return keys;
    }),
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

const keyView = view('ClientKey', {
  kid: z.nullable(z.string()).meta({ examples: ['2026-11'] }),
  alg: z.nullable(z.string()).meta({ description: 'Null: RS256 and PS256.', examples: ['EdDSA'] }),
  created_at: time,
});

/** The keys of a client, oldest first. */
export const clientKeysView = view('ClientKeys', { keys: z.array(keyView) });

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
  require_private_key: requirePrivateKey,
  created_at: time,
  revoked_at: ends,
  secrets: z.array(secretView).meta({ description: 'Oldest first, with those that have ended.' }),
  keys: z.array(keyView).meta({ description: 'The public keys that authenticate it, oldest first.' }),
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
  return present(operatorClientView, { ...shownClient(client), secrets, ...presentClientKeys(client) });
}

/** The ETag of a client, also for what only its notifications show. */
export const etagOfClient = (client: ClientWithSecrets) =>
  etagOf(presentOperatorClient(client), client.notifyUrl, client.notifySecretEnvelope);

export const presentClientKeys = ({ keys }: Pick<ClientWithSecrets, 'keys'>) => ({
  keys: keys.map((key) => present(keyView, key)),
});
