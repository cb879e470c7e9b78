import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from '@jest/globals';
import { findMasterKeyFault, rotateMasterKey } from '../../src/auth/master-key.js';
import { rotateSigningKey } from '../../src/auth/signing-keys.js';
import { headerColumns, openHeaders } from '../../src/endpoints/headers.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import { ADDRESS, testAuthority, verifiedClient } from '../support/authority.js';
import { openEmptyDatabase } from '../support/database.js';
import { makeClient, OPERATOR } from '../support/factories.js';
import { startRole } from '../support/role-process.js';

const database = await openEmptyDatabase();
let clientId: string;
beforeEach(async () => {
  clientId = await makeClient(database);
});

const [old, current] = [randomBytes(32), randomBytes(32)].map((key) => new Secret<Uint8Array>(key));
const before = new MasterKeys(old!);
const during = new MasterKeys(current!, old!);
const after = new MasterKeys(current!);
const NOTHING = { endpoints: 0, clients: 0, signingKeys: 0, unreadable: [] as string[] };

async function register(keys: MasterKeys, secret = 'a secret of the client'): Promise<string> {
  const id = newId();
  const secretEnvelope = keys.seal(new Secret(secret), id);
  await database.prisma.endpoint.create({ data: { id, clientId, url: 'https://x.test', secretEnvelope } });
  return id;
}
const read = (id: string) => database.prisma.endpoint.findUniqueOrThrow({ where: { id } });

it('seals everything with the new key, and changes nothing that clients see of their endpoints', async () => {
  const authority = testAuthority(database, { masterKeys: before });
  const { accessToken } = await authority.issue(await verifiedClient(authority, database));
  await rotateSigningKey(database, OPERATOR, before);
  const ids: string[] = [];
  for (let i = 0; i < 450; i++) ids.push(await register(before, `secret number ${i}`));
  const untouched = await register(during);
  const headers = [{ name: 'X-Api-Key', value: new Secret('gateway-key') }];
  await database.prisma.endpoint.update({ where: { id: ids[0]! }, data: headerColumns(before, ids[0]!, headers) });
  const envelope = before.seal(new Secret('a secret of its notifications'), clientId);
  await database.prisma.client.update({ where: { id: clientId }, data: { notifySecretEnvelope: envelope } });
  const { updatedAt } = await read(ids[0]!);
  expect(await rotateMasterKey(database, OPERATOR, during)).toEqual({
    ...{ endpoints: 451, clients: 1, signingKeys: 2, unreadable: [] },
  });
  for (const [i, id] of ids.entries()) {
    const { secretEnvelope } = await read(id);
    expect(after.open(secretEnvelope!, id).reveal()).toBe(`secret number ${i}`);
  }
  expect(openHeaders(after, ids[0]!, (await read(ids[0]!)).headersEnvelope)).toEqual(headers);
  const { notifySecretEnvelope } = await database.prisma.client.findUniqueOrThrow({ where: { id: clientId } });
  expect(after.open(notifySecretEnvelope!, clientId).reveal()).toBe('a secret of its notifications');
  expect((await read(ids[0]!)).updatedAt).toEqual(updatedAt);
  expect(after.open((await read(untouched)).secretEnvelope!, untouched)).toBeInstanceOf(Secret);
  const restarted = testAuthority(database, { masterKeys: after });
  await restarted.prepare();
  await expect(restarted.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
});

it('seals nothing in a second run, and misses nothing with two concurrent runs and registrations', async () => {
  const ids = await Promise.all(Array.from({ length: 50 }, () => register(before)));
  const [one, two, beside] = await Promise.all([
    rotateMasterKey(database, OPERATOR, during),
    rotateMasterKey(database, OPERATOR, during),
    register(during),
  ]);
  expect(one.endpoints + two.endpoints).toBe(50);
  for (const id of [...ids, beside]) expect(after.isCurrent((await read(id)).secretEnvelope!)).toBe(true);
  expect(await rotateMasterKey(database, OPERATOR, during)).toEqual(NOTHING);
});

it('keeps an erased secret erased, even if it is erased while it is being sealed', async () => {
  const [erased, racing] = [await register(before), await register(before)];
  await database.prisma.endpoint.update({ where: { id: erased }, data: { secretEnvelope: null } });
  const eraser = await database.openSession();
  await eraser.query('begin');
  await eraser.query('update webhook_endpoints set secret_envelope = null where id = $1', [racing]);
  const rotated = rotateMasterKey(database, OPERATOR, during);
  await database.untilBlocked();
  await eraser.query('commit');
  expect(await rotated).toEqual(NOTHING);
  expect([(await read(erased)).secretEnvelope, (await read(racing)).secretEnvelope]).toEqual([null, null]);
});

it('reports and skips a row that neither key opens, and seals the other rows', async () => {
  const lost = await register(new MasterKeys(new Secret<Uint8Array>(randomBytes(32))));
  const { secretEnvelope } = await read(lost);
  await register(before);
  const result = { ...NOTHING, endpoints: 1, unreadable: [`webhook_endpoints ${lost}`] };
  expect(await rotateMasterKey(database, OPERATOR, during)).toEqual(result);
  expect((await read(lost)).secretEnvelope).toBe(secretEnvelope);
});

// A worker with a wrong MASTER_KEY leased the queue and failed every attempt.
it('is refused where it does not open the newest signing key; a damaged endpoint secret refuses no process', async () => {
  expect(await findMasterKeyFault(database, after)).toBe(false);
  await register(after);
  await rotateSigningKey(database, OPERATOR, before);
  expect(await findMasterKeyFault(database, after)).toMatch(
    /^MASTER_KEY: a secret of this deployment was sealed with the master key/,
  );
  expect(await findMasterKeyFault(database, during)).toBe(false);
  expect(await findMasterKeyFault(database, before)).toBe(false);
});

it('ends a worker at its start where it is wrong, with a line that names it', async () => {
  await rotateSigningKey(database, OPERATOR, before);
  const { PATH = '', HOME = '' } = process.env;
  const worker = startRole('worker', {
    ...{ PATH, HOME, ENVIRONMENT: 'sandbox', DATABASE_URL: database.url.reveal(), BASE_URL: 'https://api.test' },
    ...{ TEMPORAL_ADDRESS: '127.0.0.1:1', MASTER_KEY: randomBytes(32).toString('base64'), LOG_LEVEL: 'silent' },
  });
  await expect(worker.ready).rejects.toThrow('MASTER_KEY: a secret of this deployment was sealed with the master key');
  expect([await worker.ended, worker.process.exitCode]).toEqual([null, 1]);
});
