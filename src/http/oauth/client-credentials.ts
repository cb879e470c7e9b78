import { Secret } from '../../secret.js';
import { InvalidClient, InvalidRequest } from './errors.js';
import type { TokenParameters } from './parameters.js';

export interface ClientCredentials {
  clientId: string;
  clientSecret: Secret;
}

/**
 * The client's credentials, from HTTP Basic or from the body, never from both (RFC 6749 §2.3). With Basic, the body may
 * repeat the same `client_id`: some libraries always send it.
 * @throws InvalidRequest | InvalidClient (an Authorization header that is not a readable Basic header)
 */
export function findClientCredentials(authorization: string, body: TokenParameters): ClientCredentials {
  if (authorization === '') {
    if (body.client_id === undefined) throw new InvalidRequest('client_id is missing.');
    if (body.client_secret === undefined) throw new InvalidRequest('client_secret is missing.');
    return { clientId: body.client_id, clientSecret: new Secret(body.client_secret) };
  }
  if (body.client_secret !== undefined) {
    throw new InvalidRequest('Send the credentials in the Authorization header or in the body, not in both.');
  }
  const credentials = readBasic(authorization);
  if (body.client_id !== undefined && body.client_id !== credentials.clientId) {
    throw new InvalidRequest('client_id differs from the one in the Authorization header.');
  }
  return credentials;
}

/** Reads Basic credentials (RFC 7617), whose parts are form-encoded (RFC 6749 §2.3.1). */
function readBasic(authorization: string): ClientCredentials {
  const encoded = /^basic +([\w+/-]+=*) *$/i.exec(authorization)?.[1];
  const [id, ...secret] = Buffer.from(encoded ?? '', 'base64')
    .toString('utf8')
    .split(':');
  const clientId = formDecoded(id ?? '');
  const clientSecret = formDecoded(secret.join(':'));
  if (!clientId || clientSecret === undefined) throw new InvalidClient();
  return { clientId, clientSecret: new Secret(clientSecret) };
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
