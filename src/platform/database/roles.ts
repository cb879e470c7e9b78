import pg from 'pg';
import { type Handle, rowOf } from './database.js';

/** The roles of running processes: an API's, a worker's, and one that does everything and runs the commands. */
export const RUNTIME_ROLES = ['runtime', 'api', 'worker'] as const;
export type RuntimeRole = (typeof RUNTIME_ROLES)[number];

/** The rights on a table that is not listed, such as a partition. */
export const READ_AND_WRITE = 'select, insert, update, delete';

const STATUS = 'update (status, reason_code, updated_at)';
const NOTIFY = 'notify_url, notify_secret_envelope';
/** All but the database role, which Postgres fills in. */
const ENTRY = 'insert (id, at, actor, action, target, details)';

/**
 * The tables on which a role may do less. Nothing that runs changes what a transfer says or what has happened, or
 * removes its record. `update` of one column is the right to lock rows.
 */
export const TABLE_RIGHTS: Readonly<Record<string, Readonly<Record<RuntimeRole, string>>>> = {
  // `/readyz` and `doctor` read which migrations are applied.
  _prisma_migrations: { runtime: 'select', api: 'select', worker: 'select' },

  // Records: only the owner removes one.
  audit_entries: { runtime: `select, ${ENTRY}`, api: `select, ${ENTRY}`, worker: `select, ${ENTRY}` },
  transfers: { runtime: `select, insert, ${STATUS}`, api: `select, insert, ${STATUS}`, worker: `select, ${STATUS}` },
  transfer_status_history: { runtime: 'select, insert', api: 'select, insert', worker: 'select, insert' },

  // Commands write these, and `/operator/clients`, which never changes scopes or hashes.
  clients: {
    runtime: 'select, insert, update',
    api: `select, insert, update (name, networks, rate_limit, max_endpoints, require_private_key, ${NOTIFY}, revoked_at)`,
    worker: 'select',
  },
  client_secrets: {
    runtime: 'select, insert, update',
    api: 'select, insert, update (expires_at, revoked_at)',
    worker: 'select',
  },
  client_keys: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select' },
  signing_keys: { runtime: READ_AND_WRITE, api: 'select, insert', worker: 'select' },

  // APIs write these, and workers remove what has expired.
  webhook_endpoints: { runtime: 'select, insert, update', api: 'select, insert, update', worker: 'select, update' },
  used_assertions: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (expires_at)' },
  idempotency_keys: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (created_at)' },
  console_sessions: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (last_seen_at)' },
  console_codes: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (expires_at)' },

  // APIs add these, and end those of a check that was never started.
  workflow_starts: { runtime: READ_AND_WRITE, api: 'select, insert, delete', worker: READ_AND_WRITE },

  // Workers write these.
  attempts: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },
  // Nobody changes an event.
  events: {
    runtime: 'select, insert, delete, update (traceparent)',
    api: 'select, insert',
    worker: 'select, insert, delete, update (traceparent)',
  },
  deliveries: { runtime: READ_AND_WRITE, api: 'select, insert, update', worker: READ_AND_WRITE },
  endpoint_hours: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },
  workers: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },

  // APIs write this, and workers remove what has expired.
  apis: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (alive_until)' },
};

/** The name of each role that a deployment has. Without any, `migrate` grants nothing. */
export type RoleNames = Readonly<Partial<Record<RuntimeRole, string | undefined>>>;

/** The setting with the name of a role: `DATABASE_API_ROLE`. */
const settingOf = (role: RuntimeRole) => `DATABASE_${role.toUpperCase()}_ROLE`;

/** The roles that have a name. @throws Error of one line: a name stands for two of them */
export function namedRoles(names: RoleNames): [RuntimeRole, string][] {
  const named = RUNTIME_ROLES.flatMap((role): [RuntimeRole, string][] => (names[role] ? [[role, names[role]]] : []));
  if (new Set(named.map(([, name]) => name)).size < named.length) {
    throw new Error(`give ${named.map(([role]) => settingOf(role)).join(', ')} a role each`);
  }
  return named;
}

/**
 * Fails if the role `name` cannot be the role of a running service: it does not exist, or it is the role of `client` or
 * a superuser, from which no right can be taken.
 * @throws Error of one line
 */
export async function checkRuntimeRole(client: pg.Client, role: RuntimeRole, name: string): Promise<void> {
  const { rowCount } = await client.query(
    `select from pg_roles where rolname = $1 and not rolsuper and not pg_has_role(oid, current_user, 'member')`,
    [name],
  );
  if (rowCount === 1) return;
  throw new Error(
    `${settingOf(role)}: ${name} must exist, and be neither a superuser nor a member of the role that migrates; make it with deploy/postgres/roles.sql`,
  );
}

/**
 * Grants the role `name` its rights (`TABLE_RIGHTS`): to read and write rows, and nothing that defines a table. Tables
 * that the owner makes later, such as partitions, can be read and written. Safe to repeat.
 * @param client of the owner of the tables, which holds the lock of `migrate`: concurrent grants on a table would fail
 */
export async function grantToRuntimeRole(client: pg.Client, role: RuntimeRole, name: string): Promise<void> {
  const { rows } = await client.query<{ schema: string }>('select current_schema() as schema');
  const grantee = pg.escapeIdentifier(name);
  const schema = pg.escapeIdentifier(rows[0]?.schema ?? 'public');
  // One implicit transaction: no statement of the service sees a table without its rights.
  await client.query(
    [
      `grant usage on schema ${schema} to ${grantee}`,
      `grant ${READ_AND_WRITE} on all tables in schema ${schema} to ${grantee}`,
      `grant usage, select on all sequences in schema ${schema} to ${grantee}`,
      `alter default privileges in schema ${schema} grant ${READ_AND_WRITE} on tables to ${grantee}`,
      `alter default privileges in schema ${schema} grant usage, select on sequences to ${grantee}`,
      ...Object.entries(TABLE_RIGHTS).flatMap(([table, rights]) => [
        `revoke all on ${schema}.${table} from ${grantee}`,
        `grant ${rights[role]} on ${schema}.${table} to ${grantee}`,
      ]),
    ].join(';\n'),
  );
}

/** @throws Error of one line unless the role that `db` connects as owns the tables */
export async function requireOwner(db: Pick<Handle, 'query'>): Promise<void> {
  const { role, owner } = await rowOf<Rights>(db, RIGHTS, []);
  if (!owner)
    throw new Error(`DATABASE_URL: the role ${role} may not do this; give the URL of the owner of the tables`);
}

/** What the role that `db` connects as may do beyond the rights of a running service. */
export async function findRoleFault(db: Pick<Handle, 'query'>): Promise<string | false> {
  const row = await rowOf<Rights>(db, RIGHTS, []);
  const excess = [
    ...(row.superuser ? ['is a superuser'] : []),
    ...(row.owner && !row.superuser ? ['owns the tables'] : []),
    ...(row.creates ? ['may make tables'] : []),
    ...(row.records ? ['may remove or change audit entries, transfers and their history'] : []),
  ];
  const remedy = 'run the service as a role that `migrate` has granted its rights (DATABASE_RUNTIME_ROLE)';
  return excess.length > 0 && `the role ${row.role} ${excess.join(', ')}; ${remedy}`;
}

interface Rights extends Record<'superuser' | 'owner' | 'creates' | 'records', boolean> {
  role: string;
}

const RIGHTS = `
select current_user::text as role,
       (select rolsuper from pg_roles where rolname = current_user) as superuser,
       exists (select from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
                  and pg_has_role(relowner, 'member')) as owner,
       has_schema_privilege(current_schema(), 'create') as creates,
       (select bool_or(has_table_privilege(oid, 'update, delete, truncate'))
          from pg_class where oid in (to_regclass('audit_entries'), to_regclass('transfers'), to_regclass('transfer_status_history'))
       ) is true as records`;
