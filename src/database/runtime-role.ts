import pg from 'pg';
import type { Handle } from './database.js';

/** Tables that a running service does not change at will, with the rights that it keeps. */
const PROTECTED: Readonly<Record<string, string>> = {
  // Entries are added and read. Nothing in the service changes or removes one.
  audit_entries: 'select, insert',
  // `/readyz` and `doctor` read which migrations are applied.
  _prisma_migrations: 'select',
};

/**
 * Fails if `role` cannot be the role of a running service: it does not exist, or it is the role of `client` or a
 * superuser, from which no right can be taken.
 * @throws Error of one line
 */
export async function checkRuntimeRole(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ superuser: boolean; member: boolean }>(
    `select rolsuper as superuser, pg_has_role(oid, current_user, 'member') as member from pg_roles where rolname = $1`,
    [role],
  );
  const [found] = rows;
  const fault = !found
    ? 'does not exist; make it with deploy/postgres/roles.sql'
    : found.superuser
      ? 'is a superuser, which may do anything; name a role without that attribute'
      : found.member
        ? 'is the role that migrates, or a member of it; let another role migrate'
        : undefined;
  if (fault) throw new Error(`DATABASE_RUNTIME_ROLE: the role ${role} ${fault}`);
}

/**
 * Grants `role` the rights of a running service: to read and write rows, and nothing that defines a table. Tables that
 * the owner makes later, such as partitions, get the same rights. Safe to repeat.
 * @param client of the owner of the tables, which holds the lock of `migrate`: concurrent grants on a table would fail
 */
export async function grantToRuntimeRole(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<{ schema: string }>('select current_schema() as schema');
  const grantee = pg.escapeIdentifier(role);
  const schema = pg.escapeIdentifier(rows[0]?.schema ?? 'public');
  const rowRights = 'select, insert, update, delete';
  // One implicit transaction: no statement of the service sees a table without its rights.
  await client.query(
    [
      `grant usage on schema ${schema} to ${grantee}`,
      `grant ${rowRights} on all tables in schema ${schema} to ${grantee}`,
      `grant usage, select on all sequences in schema ${schema} to ${grantee}`,
      `alter default privileges in schema ${schema} grant ${rowRights} on tables to ${grantee}`,
      `alter default privileges in schema ${schema} grant usage, select on sequences to ${grantee}`,
      ...Object.entries(PROTECTED).flatMap(([table, rights]) => [
        `revoke all on ${schema}.${table} from ${grantee}`,
        `grant ${rights} on ${schema}.${table} to ${grantee}`,
      ]),
    ].join(';\n'),
  );
}

/** What a role may do beyond the rights of a running service. */
export interface RoleRights {
  role: string;
  /** A line for each right that should be missing, such as `owns the tables`. */
  excess: string[];
}

/** The rights of the role that `db` connects as. */
export async function readRoleRights(db: Pick<Handle, 'query'>): Promise<RoleRights> {
  const [row] = await db.query<Record<'superuser' | 'owner' | 'creates' | 'audit', boolean> & { role: string }>(
    RIGHTS,
    [],
  );
  if (!row) throw new Error('Postgres returned no row for the rights of its role');
  const excess = [
    ...(row.superuser ? ['is a superuser'] : []),
    ...(row.owner && !row.superuser ? ['owns the tables'] : []),
    ...(row.creates ? ['may make tables'] : []),
    ...(row.audit ? ['may change and remove audit entries'] : []),
  ];
  return { role: row.role, excess };
}

const RIGHTS = `
select current_user::text as role,
       (select rolsuper from pg_roles where rolname = current_user) as superuser,
       exists (select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
                  and pg_has_role(relowner, 'member')) as owner,
       has_schema_privilege(current_schema(), 'create') as creates,
       coalesce(has_table_privilege(to_regclass('audit_entries'), 'update, delete, truncate'), false) as audit`;
