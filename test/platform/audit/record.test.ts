import { inspect } from 'node:util';
import {
  changeClient,
  createClient,
  listClients,
  revokeClient,
  revokeSecret,
  rotateSecret,
} from '../../../src/auth/clients.js';
import { setEndpointEnabledByOperator } from '../../../src/endpoints/endpoints.js';
import { openTestDatabase } from '../../support/database.js';
import { makeEndpoint, OPERATOR } from '../../support/factories.js';

const db = await openTestDatabase();

/** The entries of a target, oldest first. */
async function entriesOf(target: string | null) {
  const entries = await db.prisma.auditEntry.findMany({ where: { target }, orderBy: { id: 'asc' } });
  return entries.map(({ actor, action, details }) => ({ actor, action, details }));
}
const by = (action: string, details: unknown = {}) => ({ actor: OPERATOR, action, details });

describe('every action of an operator writes one entry', () => {
  it('for a client, from creation to revocation', async () => {
    const { client, secretId: first } = await createClient(db, OPERATOR, { name: 'Acme', networks: ['10.0.0.0/8'] });
    const { secretId: second } = await rotateSecret(db, OPERATOR, client.id);
    const { secretId: third } = await rotateSecret(db, OPERATOR, client.id, {
      expireOldIn: 86_400_000,
      revoke: first,
    });
    await revokeSecret(db, OPERATOR, client.id, third);
    await changeClient(db, OPERATOR, client.id, { networks: [] });
    await revokeClient(db, OPERATOR, client.id);
    expect(await entriesOf(client.id)).toEqual([
      by('clients.create', {
        ...{ name: 'Acme', scopes: client.scopes, networks: ['10.0.0.0/8'], secret_id: first },
        ...{ rate_limit: null, max_endpoints: null },
      }),
      by('clients.rotate-secret', { secret_id: second }),
      by('clients.rotate-secret', { secret_id: third, expire_old: '1d', revoked: [first] }),
      by('clients.revoke-secret', { secret_id: third }),
      by('clients.allow', { from: ['10.0.0.0/8'], to: [] }),
      by('clients.revoke'),
    ]);
  });
});

describe('no entry is written', () => {
  it('for an action that changes nothing', async () => {
    const { client, secretId } = await createClient(db, OPERATOR, { name: 'Acme' });
    const { id } = await makeEndpoint(db, client.id, {});
    for (const _ of ['once', 'again']) {
      await revokeSecret(db, OPERATOR, client.id, secretId);
      await changeClient(db, OPERATOR, client.id, { networks: ['10.0.0.0/8'] });
      await revokeClient(db, OPERATOR, client.id);
      await setEndpointEnabledByOperator(db, OPERATOR, id, false);
    }
    expect(await entriesOf(client.id)).toHaveLength(4);
    expect(await entriesOf(id)).toHaveLength(1);
  });
});

it('commits the action and its entry together or not at all', async () => {
  const { client } = await createClient(db, OPERATOR, { name: 'Acme' });
  await db.query(`alter table audit_entries add constraint full_disk check (action <> 'clients.revoke') not valid`, []);
  await expect(revokeClient(db, OPERATOR, client.id)).rejects.toThrow('full_disk');
  await db.query('alter table audit_entries drop constraint full_disk', []);
  expect(await listClients(db)).toContainEqual(expect.objectContaining({ id: client.id, revokedAt: null }));
});

it('writes no secret and no hash of a secret into an entry', async () => {
  const { client, clientSecret } = await createClient(db, OPERATOR, { name: 'Acme' });
  const { clientSecret: second } = await rotateSecret(db, OPERATOR, client.id);
  const { secrets } = await db.prisma.client.findUniqueOrThrow({
    where: { id: client.id },
    include: { secrets: true },
  });
  const written = inspect(await db.prisma.auditEntry.findMany(), { depth: 9 });
  expect(written).toContain(client.id);
  const hashes = secrets.flatMap(({ hash }) =>
    ['hex', 'base64', 'base64url'].map((form) => Buffer.from(hash).toString(form as BufferEncoding)),
  );
  for (const hidden of [clientSecret.reveal(), second.reveal(), ...hashes]) expect(written).not.toContain(hidden);
});
