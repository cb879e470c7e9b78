import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { Refusal } from '../refusal.js';
import type { Log } from '../telemetry/log.js';
import { within } from '../time-limit.js';
import { type Authority, OutsideOfNetworks } from './authority.js';
import { ClientCache } from './client-cache.js';
import { type ClientRecord, isAlive, readClientRecord } from './client-record.js';
import { type Clock, systemClock } from './clock.js';
import { checkCredentials } from './credentials.js';
import { KeyRing } from './key-ring.js';
import { readOrMakeSigningKeys } from './keys.js';
import { seconds, Tokens } from './tokens.js';

/** ms after which a token request stops waiting for a database that hangs. */
const READ_LIMIT = 5_000;

export interface AuthorityDependencies {
  config: Pick<Config, 'authUrl' | 'baseUrl' | 'accessTokenLifetime'>;
  database: Database;
  masterKeys: MasterKeys;
  log: Log;
  clock?: Clock;
}

/**
 * Opens the environment's authority. It reads nothing before its first use, so that the API starts without Postgres.
 */
export function openAuthority(dependencies: AuthorityDependencies): Authority {
  const { config, database, masterKeys, log, clock = systemClock } = dependencies;

  /** Turns a failed read into `unavailable`. The cause is in the log. */
  const orUnavailable = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      log.warn({ err: error }, 'the store of clients and keys cannot be read');
      throw new Refusal('unavailable', 'Access cannot be checked now. The request had no effect.');
    }
  };
  const read = (clientId: string) => orUnavailable(within(READ_LIMIT, readClientRecord(database, clientId)));
  const clients = new ClientCache(read, clock);
  const keyRing = new KeyRing({
    read: () => readOrMakeSigningKeys(database, masterKeys),
    masterKeys,
    lifetime: config.accessTokenLifetime,
    clock,
    onFault: (error) => log.warn({ err: error }, 'the signing keys cannot be read again'),
  });
  const tokens = new Tokens({ keyRing, issuer: config.authUrl, audience: config.baseUrl, clock });

  /** The client's record. A secret that is missing in the cached record may be newer than the record. */
  const recordWith = async (clientId: string, secretId: string): Promise<ClientRecord | undefined> => {
    const cached = await clients.get(clientId);
    return hasSecret(cached, secretId) ? cached : clients.refresh(clientId);
  };

  return {
    issuer: config.authUrl,
    audience: config.baseUrl,

    async prepare() {
      await keyRing.signingKey();
    },

    async verifyClient(clientId, clientSecret, address) {
      const found = await checkCredentials(read, clientId, clientSecret, clock.now());
      if (!found) return undefined;
      const { client, secret } = found;
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(secret.id);
      return { clientId: client.id, secretId: secret.id, scopes: client.scopes, secretExpiresAt: secret.expiresAt };
    },

    async issue(client, scopes = client.scopes) {
      const now = clock.now();
      const end = Math.min(now + config.accessTokenLifetime, client.secretExpiresAt ?? Number.POSITIVE_INFINITY);
      const expiresAt = seconds(end);
      const { clientId, secretId } = client;
      const accessToken = await orUnavailable(tokens.sign({ clientId, secretId, scopes, expiresAt }));
      return { accessToken, expiresIn: Math.max(0, expiresAt - seconds(now)), scope: scopes.join(' ') };
    },

    async authenticate(bearer, address) {
      const claims = await orUnavailable(tokens.verify(bearer));
      const client = await orUnavailable(recordWith(claims.clientId, claims.secretId));
      const secret = client?.secrets.find(({ id }) => id === claims.secretId);
      if (!client || client.revoked || !secret || !isAlive(secret, clock.now())) {
        throw new Refusal('invalid_token', 'The access token has been revoked.');
      }
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(secret.id);
      const scopes = new Set(claims.scopes.filter((scope) => client.scopes.includes(scope)));
      return { clientId: client.id, secretId: secret.id, scopes };
    },

    async jwks() {
      return { keys: await orUnavailable(keyRing.publicKeys()) };
    },

    async close() {},
  };
}

function hasSecret(client: ClientRecord | undefined, secretId: string): boolean {
  return client?.secrets.some(({ id }) => id === secretId) ?? false;
}
