import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openDatabase } from '../../src/platform/database/database.js';
import { RUNTIME_ROLES, type RuntimeRole } from '../../src/platform/database/roles.js';
import { Secret } from '../../src/platform/secret.js';
import { openTestHandle, type TestDatabase } from './database.js';

/** An empty database as a deployment makes it: a role owns it, and other roles run the service. */
export interface OwnedDatabase {
  /** The URL of the owner, who migrates. */
  ownerUrl: Secret;
  /** The names of the other roles, and their URLs. They have no rights before `migrate`. */
  roles: Readonly<Record<RuntimeRole, string>>;
  urls: Readonly<Record<RuntimeRole, Secret>>;
  runtimeUrl: Secret;
  runtimeRole: string;
  /** Drops the database and its roles. */
  drop(): Promise<void>;
}

export async function createOwnedDatabase(): Promise<OwnedDatabase> {
  const name = `owned_${randomBytes(6).toString('hex')}`;
  const owner = `${name}_owner`;
  const roles = forEachRole((role) => `${name}_${role}`);
  const all = [owner, ...Object.values(roles)];
  const password = randomBytes(12).toString('hex');
  const server = new Secret(process.env.TEST_DATABASE_URL ?? '');
  await asRole(server, async (client) => {
    for (const role of all) await client.query(`create role ${role} login password '${password}'`);
    await client.query(`create database ${name} owner ${owner}`);
  });
  const urlOf = (role: string) => {
    const address = new URL(server.reveal());
    Object.assign(address, { username: role, password, pathname: `/${name}` });
    return new Secret(address.href);
  };
  return {
    ownerUrl: urlOf(owner),
    roles,
    urls: forEachRole((role) => urlOf(roles[role])),
    runtimeUrl: urlOf(roles.runtime),
    runtimeRole: roles.runtime,
    drop: () =>
      asRole(server, async (client) => {
        await client.query(`drop database ${name} with (force)`);
        for (const role of all) await client.query(`drop role ${role}`);
      }),
  };
}

function forEachRole<T>(make: (role: RuntimeRole) => T): Record<RuntimeRole, T> {
  return Object.fromEntries(RUNTIME_ROLES.map((role) => [role, make(role)])) as Record<RuntimeRole, T>;
}

/** Runs `work` on one connection to `url`. */
export async function asRole<T>(url: Secret, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url.reveal() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The database as its owner uses it, for `startService`; `drop` drops it with its roles. */
export async function openOwnedDatabase(owned: OwnedDatabase): Promise<TestDatabase> {
  return openTestHandle(owned.runtimeUrl, openDatabase({ url: owned.ownerUrl, poolSize: 4 }), owned.drop);
}
