import { TransferServiceError } from './error.js';
import type { NewWebhookEndpoint, WebhookEndpoint, WebhookEndpointPatch } from './types.js';

/** An endpoint as it should be. What is omitted stays as it is. */
export interface WantedEndpoint extends NewWebhookEndpoint {
  /**
   * A name of the secret, such as its version: 1 to 64 letters, digits and `._:-`. It is kept at the end of the
   * description. With another name, `ensure` registers the URL again: the switch to a new secret.
   */
  secretRef?: string;
}

/** What `ensure` found or made. */
export interface EnsuredEndpoint {
  endpoint: WebhookEndpoint;
  outcome: 'created' | 'changed' | 'unchanged';
  /** Endpoints of the same URL with another `secretRef`: delete them when the switch is over. */
  previous: WebhookEndpoint[];
}

/** Deletions and registrations again of the last 24 hours that are followed. */
const MOST_LINKS = 20;

/** The calls that are made, of {@link TransferServiceClient.webhookEndpoints}. */
interface Calls {
  list(filters: { limit: number }): AsyncIterable<WebhookEndpoint>;
  get(webhookId: string): Promise<WebhookEndpoint>;
  register(endpoint: NewWebhookEndpoint, options: { idempotencyKey: string }): Promise<WebhookEndpoint>;
  patch(webhookId: string, changes: WebhookEndpointPatch): Promise<WebhookEndpoint>;
}

/** Finds, registers or changes an endpoint (`webhookEndpoints.ensure`). */
export async function ensureEndpoint(
  endpoints: Calls,
  { secretRef, ...wanted }: WantedEndpoint,
): Promise<EnsuredEndpoint> {
  if (secretRef !== undefined && !/^[\w.:-]{1,64}$/.test(secretRef)) {
    throw new TypeError('secretRef must be 1 to 64 letters, digits and ._:-');
  }
  const marked = (description: string | null | undefined) =>
    secretRef === undefined ? description : `${description ?? ''} [secret ${secretRef}]`.trimStart();
  const fresh: NewWebhookEndpoint = { ...wanted };
  const description = marked(wanted.description);
  if (description !== undefined) fresh.description = description;

  const find = async () => {
    const same: WebhookEndpoint[] = [];
    for await (const one of endpoints.list({ limit: 100 })) if (one.url === wanted.url) same.push(one);
    // The oldest of the enabled ones; the list is newest first.
    same.reverse().sort((one, other) => Number(other.enabled) - Number(one.enabled));
    if (secretRef === undefined) return { found: same[0], previous: [] };
    const unnamed = same.find((one) => refOf(one) === undefined);
    if (unnamed) {
      const message = `the endpoint ${unnamed.webhookId} has this URL and no secretRef: if it has this secret, let its description end with [secret ${secretRef}]`;
      throw new TypeError(message);
    }
    return {
      found: same.find((one) => refOf(one) === secretRef),
      previous: same.filter((one) => refOf(one) !== secretRef),
    };
  };

  const before = await find();
  if (before.found) return change(before.found, before.previous);
  // All who ensure the same endpoint use the same keys, so that the service makes one.
  let key = `ensure-${await digest(`${wanted.url} ${secretRef ?? ''}`)}`;
  for (let links = 0; links < MOST_LINKS; links++) {
    try {
      const made = await endpoints.register(fresh, { idempotencyKey: key });
      const endpoint = await endpoints.get(made.webhookId).catch(unlessMissing);
      if (endpoint) return { endpoint, outcome: 'created', previous: before.previous };
      // The response of a registration that was deleted since.
      key = `ensure-${await digest(`${key} ${made.webhookId}`)}`;
    } catch (error) {
      if (!(error instanceof TransferServiceError && error.code === 'idempotency_key_reused')) throw error;
      // Another body was sent with the key: by another process, or before a deletion.
      const now = await find();
      if (now.found) return change(now.found, now.previous);
      key = `ensure-${await digest(`${key} ${JSON.stringify(fresh)}`)}`;
    }
  }
  throw new Error('the endpoint is deleted again and again');

  async function change(found: WebhookEndpoint, previous: WebhookEndpoint[]): Promise<EnsuredEndpoint> {
    const { url, secret, ...fields } = fresh;
    const differing = Object.entries(fields).filter(
      ([name, value]) => value !== undefined && !isSame(found[name as keyof WebhookEndpoint], shownOf(name, value)),
    );
    if (differing.length === 0) return { endpoint: found, outcome: 'unchanged', previous };
    const patch = Object.fromEntries(differing) as WebhookEndpointPatch;
    return { endpoint: await endpoints.patch(found.webhookId, patch), outcome: 'changed', previous };
  }
}

/** Values of headers are not shown, so only their names are compared. */
const shownOf = (field: string, wanted: unknown) =>
  field === 'headers' ? (wanted as { name: string }[]).map(({ name }) => ({ name })) : wanted;

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

const refOf = ({ description }: WebhookEndpoint) => / ?\[secret ([\w.:-]+)\]$/.exec(description ?? '')?.[1];

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof TransferServiceError && error.status === 404)) throw error;
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
