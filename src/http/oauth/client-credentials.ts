import { Secret } from '../../secret.js';
import { InvalidClient, InvalidRequest } from './errors.js';
import type { TokenParameters } from './parameters.js';

export interface ClientCredentials {
  clientId: string;
  clientSecret: Secret;
}

/**
 * What the client authenticates with: HTTP Basic or the body, never both (RFC 6749 §2.3). `client_id` may stand in the
 * body beside Basic, where it says the same; some libraries send it always.
 * @throws InvalidRequest | InvalidClient (an Authorization header that is no Basic one, or cannot be read)
 */
export function findClientCredentials(authorization: string, body: TokenParameters): ClientCredentials {
  if (authorization === '') {
    if (body.client_id === undefined) throw new InvalidRequest('client_id is missing.');
    if (body.client_secret === undefined) throw new InvalidRequest('client_secret is missing.');
    return { clientId: body.client_id, clientSecret: new Secret(body.client_secret) };
  }
  if (body.client_secret !== undefined) {
    throw new InvalidRequest('Authenticate in the Authorization header or in the body, not in both.');
  }
  const credentials = readBasic(authorization);
  if (body.client_id !== undefined && body.client_id !== credentials.clientId) {
    throw new InvalidRequest('client_id differs from the one in the Authorization header.');
  }
  return credentials;
}

/** RFC 7617, with both parts form-encoded before (RFC 6749 §2.3.1). */
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
