import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { Secret } from '../../src/secret.js';

/** An empty database as a deployment makes it: a role owns it, and another role runs the service. */
export interface OwnedDatabase {
  /** The URL of the owner, who migrates. */
  ownerUrl: Secret;
  /** The URL of the runtime role, which has no rights before `migrate`. */
  runtimeUrl: Secret;
  runtimeRole: string;
  /** Drops the database and both roles. */
  drop(): Promise<void>;
}

export async function createOwnedDatabase(): Promise<OwnedDatabase> {
  const name = `owned_${randomBytes(6).toString('hex')}`;
  const [owner, runtime] = [`${name}_owner`, `${name}_runtime`];
  const password = randomBytes(12).toString('hex');
  const server = new Secret(process.env.TEST_DATABASE_URL ?? '');
  await asRole(server, async (client) => {
    for (const role of [owner, runtime]) await client.query(`create role ${role} login password '${password}'`);
    await client.query(`create database ${name} owner ${owner}`);
  });
  const urlOf = (role: string) => {
    const address = new URL(server.reveal());
    Object.assign(address, { username: role, password, pathname: `/${name}` });
    return new Secret(address.href);
  };
  return {
    ownerUrl: urlOf(owner),
    runtimeUrl: urlOf(runtime),
    runtimeRole: runtime,
    drop: () =>
      asRole(server, async (client) => {
        await client.query(`drop database ${name} with (force)`);
        for (const role of [owner, runtime]) await client.query(`drop role ${role}`);
      }),
  };
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
