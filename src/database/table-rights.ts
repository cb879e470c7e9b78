/** The roles of running processes: an API's, a worker's, and one that does everything and runs the commands. */
export const RUNTIME_ROLES = ['runtime', 'api', 'worker'] as const;
export type RuntimeRole = (typeof RUNTIME_ROLES)[number];

/** The rights on a table that is not listed, such as a partition. */
export const READ_AND_WRITE = 'select, insert, update, delete';

const STATUS = 'update (status, reason_code, updated_at)';

/**
 * The tables on which a role may do less. Nothing that runs changes what a transfer says or what has happened, or
 * removes its record. `update` of one column is the right to lock rows.
 */
export const TABLE_RIGHTS: Readonly<Record<string, Readonly<Record<RuntimeRole, string>>>> = {
  // `/readyz` and `doctor` read which migrations are applied.
  _prisma_migrations: { runtime: 'select', api: 'select', worker: 'select' },

  // Records: only the owner removes one.
  audit_entries: { runtime: 'select, insert', api: 'select, insert', worker: 'select, insert' },
  transfers: { runtime: `select, insert, ${STATUS}`, api: `select, insert, ${STATUS}`, worker: `select, ${STATUS}` },
  transfer_status_history: { runtime: 'select, insert', api: 'select, insert', worker: 'select, insert' },

  // Commands write these.
  clients: { runtime: 'select, insert, update', api: 'select, update (name)', worker: 'select' },
  client_secrets: { runtime: 'select, insert, update', api: 'select', worker: 'select' },
  signing_keys: { runtime: READ_AND_WRITE, api: 'select, insert', worker: 'select' },

  // APIs write these, and workers remove what has expired.
  webhook_endpoints: { runtime: 'select, insert, update', api: 'select, insert, update', worker: 'select, update' },
  idempotency_keys: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (created_at)' },
  console_sessions: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (last_seen_at)' },
  console_codes: { runtime: READ_AND_WRITE, api: READ_AND_WRITE, worker: 'select, delete, update (expires_at)' },

  // Workers write these.
  attempts: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },
  events: { runtime: READ_AND_WRITE, api: 'select, insert, update', worker: READ_AND_WRITE },
  deliveries: { runtime: READ_AND_WRITE, api: 'select, insert, update', worker: READ_AND_WRITE },
  endpoint_hours: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },
  workers: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },
  endpoint_slots: { runtime: READ_AND_WRITE, api: 'select', worker: READ_AND_WRITE },
};
