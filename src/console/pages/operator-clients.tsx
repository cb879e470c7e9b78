import type { z } from 'zod';
import { MAX_CLIENT_KEYS, readClientJwks } from '../../auth/client-keys.js';
import { type ClientWithSecrets, showOrdinaryClient } from '../../auth/clients.js';
import { etagOfClient, type operatorClientView } from '../../http/schemas/operator-client.js';
import { Refusal, type ValidationError } from '../../platform/refusal.js';
import { Empty, type Listed, Pager, Table } from '../components/lists.js';
import { Card, Facts, Field, PostButton, Submit, TextArea, Up } from '../components/parts.js';
import { Id, Time, Untrusted } from '../components/values.js';
import { form, isFullSession, page, seeOther, type Visit } from '../page.js';

const PATH = '/console/operator/clients';

type Client = z.output<typeof operatorClientView>;
type ClientVisit = Visit<'id'>;

/** `/console/operator/clients`: every client without a scope of the operator. */
const clientList = page({
  path: PATH,
  scope: 'operator',
  points: 3,
  title: 'Clients',
  hasRows: true,
  async view({ operations, query }) {
    const name = query.get('name')?.trim() || undefined;
    const cursor = query.get('cursor') ?? undefined;
    const listed = await operations.read<Listed<Client>>('listClients', { query: { name, cursor } });
    return (
      <>
        <Up to="/console/operator">All clients</Up>
        <h1>Clients</h1>
        <form class="row" method="get" action={PATH}>
          <Field label="Part of the name" name="name" value={name} />
          <button type="submit">Search</button>
        </form>
        {listed.data.length === 0 ? (
          <Empty title={name === undefined ? 'No clients yet' : 'No clients match'} />
        ) : (
          <Table
            id="rows"
            rows={listed.data}
            href={({ client_id }) => clientPath(client_id)}
            columns={{
              Client: ({ name }) => <Untrusted text={name} />,
              'Public keys': ({ keys }) => keys.length,
              Secrets: ({ require_private_key }) => (require_private_key ? 'refused' : 'accepted'),
              Created: ({ created_at }) => <Time at={created_at} />,
              Id: ({ client_id }) => <Id id={client_id} />,
            }}
          />
        )}
        <Pager path={PATH} query={query} nextCursor={listed.next_cursor} />
      </>
    );
  },
});

export const clientPath = (id: string) => `${PATH}/${id}` as const;

/** `/console/operator/clients/{id}`: how a client authenticates. */
const clientPage = page({
  path: `${PATH}/{id}`,
  scope: 'operator',
  points: 2,
  title: 'Client',
  async view(visit) {
    const client = await visit.read((db) => showOrdinaryClient(db, visit.params.id));
    const { id, keys, requirePrivateKey, revokedAt } = client;
    const mayChange = isFullSession(visit) && !revokedAt;
    const fields = { etag: etagOfClient(client) };
    return (
      <>
        <Up to={PATH}>Clients</Up>
        <h1>
          <Untrusted text={client.name} />
        </h1>
        <Facts
          of={{
            'Client id': <Id id={id} whole />,
            'Shared secrets': requirePrivateKey
              ? 'refused'
              : `accepted, ${activeSecrets(client, visit.session.now)} active`,
            Revoked: revokedAt && <Time at={revokedAt} />,
          }}
        />
        {requirePrivateKey && keys.length === 0 && (
          <p class="banner bad">The client cannot authenticate: its secrets are refused, and it has no key.</p>
        )}
        <section class="stack" aria-label="Public keys">
          <h2>Public keys</h2>
          {keys.length === 0 ? (
            <p class="muted">None. With a key, the client authenticates by private_key_jwt.</p>
          ) : (
            <Table
              rows={keys}
              columns={{
                Key: ({ kid }) => (kid === null ? 'without a kid' : <Untrusted text={kid} />),
                Algorithms: ({ alg }) => alg ?? 'RS256, PS256',
                Since: ({ createdAt }) => <Time at={createdAt} />,
                ...(mayChange && {
                  Action: ({ kid, thumbprint }: Key) => (
                    <PostButton
                      action={`${clientPath(id)}/keys/remove`}
                      class="danger"
                      fields={{ ...fields, thumbprint }}
                    >
                      Remove
                      <span class="visually-hidden">
                        {' '}
                        the key <Untrusted text={kid ?? 'without a kid'} />
                      </span>
                    </PostButton>
                  ),
                }),
              }}
            />
          )}
          {mayChange && <KeyForm id={id} etag={fields.etag} hasKeys={keys.length > 0} />}
        </section>
        {mayChange && (
          <Card title="Shared secrets">
            <PostButton
              action={`${clientPath(id)}/require-private-key`}
              class={requirePrivateKey ? undefined : 'danger'}
              fields={{ ...fields, required: String(!requirePrivateKey) }}
            >
              {requirePrivateKey ? 'Accept shared secrets again' : 'Refuse shared secrets'}
            </PostButton>
            <p class="hint">
              {requirePrivateKey
                ? 'The secrets that have not ended authenticate the client again.'
                : 'Only its keys then authenticate the client, also at the console. Tokens of its secrets end within 5 s.'}
            </p>
          </Card>
        )}
      </>
    );
  },
});

type Key = ClientWithSecrets['keys'][number];

const activeSecrets = ({ secrets }: ClientWithSecrets, now: number) =>
  secrets.filter(({ revokedAt, expiresAt }) => !revokedAt && !(expiresAt && expiresAt.getTime() <= now)).length;

function KeyForm({ id, etag, hasKeys }: { id: string; etag: string; hasKeys: boolean }) {
  return (
    <form class="card stack" method="post" action={`${clientPath(id)}/keys`}>
      <input type="hidden" name="etag" value={etag} />
      <TextArea
        name="jwks"
        label="Add public keys"
        class="mono"
        rows={6}
        required
        hint={`A JWK or a JWK set, as the client sends it: RSA of at least 2048 bits, P-256 or Ed25519, without private members. At most ${MAX_CLIENT_KEYS} keys, each with a kid of its own.`}
      />
      {hasKeys && (
        <label class="check">
          <input type="checkbox" name="replace" />
          <span>Remove the present keys: their tokens end within 5 s</span>
        </label>
      )}
      <Submit>Save keys</Submit>
    </form>
  );
}

const addKeys = form({
  path: `${PATH}/{id}/keys`,
  scope: 'operator',
  page: clientPage,
  async submit(visit, fields) {
    const given = keysOf(fields.get('jwks') ?? '');
    const before = fields.has('replace') ? [] : await storedKeys(visit);
    await setKeys(visit, [...before, ...given], fields, before.length);
    return seeOther(clientPath(visit.params.id), 'The keys are saved.');
  },
});

const removeKey = form({
  path: `${PATH}/{id}/keys/remove`,
  scope: 'operator',
  page: clientPage,
  async submit(visit, fields) {
    await setKeys(visit, await storedKeys(visit, fields.get('thumbprint') ?? undefined), fields);
    return seeOther(clientPath(visit.params.id), 'The key is removed. Its tokens end within 5 s.');
  },
});

const requireKey = form({
  path: `${PATH}/{id}/require-private-key`,
  scope: 'operator',
  page: clientPage,
  async submit({ operations, params: { id } }, fields) {
    const required = fields.get('required') === 'true';
    const ifMatch = fields.get('etag') ?? undefined;
    await operations.change('patchClient', { params: { id }, body: { require_private_key: required }, ifMatch });
    return seeOther(clientPath(id), required ? 'Shared secrets are refused.' : 'Shared secrets are accepted.');
  },
});

const storedKeys = ({ read, params: { id } }: ClientVisit, without?: string) =>
  read((db) => readClientJwks(db, id, without));

/** @param stored how many of the keys the client has already: an error of another key is one of the field */
async function setKeys(
  { operations, params: { id } }: ClientVisit,
  keys: readonly unknown[],
  fields: URLSearchParams,
  stored = 0,
): Promise<void> {
  try {
    const ifMatch = fields.get('etag') ?? undefined;
    await operations.change('setClientKeys', { params: { id }, body: { keys }, ifMatch });
  } catch (error) {
    if (!(error instanceof Refusal) || error.errors.length === 0) throw error;
    const errors = error.errors.map((one) => atField(one, stored));
    throw new Refusal(error.code, error.message, errors, { cause: error });
  }
}

/** `/keys/1/kid` with one stored key → an error of the field, at the first given key. */
function atField({ pointer = '', code, detail }: ValidationError, stored: number): ValidationError {
  const [, index, member = ''] = /^\/keys\/(\d+)\/?(.*)$/.exec(pointer) ?? [];
  const position = Number(index);
  const which = position < stored ? 'present key' : 'key';
  const number = position < stored ? position + 1 : position - stored + 1;
  const where = index === undefined ? '' : `${which} ${number}: ${member} `;
  return { pointer: '/jwks', code, detail: `${where}${detail}` };
}

/** The keys of a JWK set, or of one JWK. @throws Refusal invalid_request */
function keysOf(text: string): readonly unknown[] {
  try {
    const json = JSON.parse(text) as { keys?: unknown } | null;
    if (json && typeof json === 'object' && !Array.isArray(json)) {
      if (json.keys === undefined) return [json];
      if (Array.isArray(json.keys) && json.keys.length > 0) return json.keys;
    }
  } catch {
    // Said below, without what was pasted.
  }
  const detail = 'must be a JWK or a JWK set in JSON';
  throw new Refusal('invalid_request', `The field ${detail}.`, [{ pointer: '/jwks', code: 'invalid_key', detail }]);
}

export const operatorClientPages = [clientList, clientPage, addKeys, removeKey, requireKey];
