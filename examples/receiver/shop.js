import { createInbox } from 'transfer-service-client/inbox';

/** A shop that ships goods when their transfer is COMPLETED: once, whatever is repeated, late or killed. */
export function createShop({ pool, client, secret, since, schema = 'shop' }) {
  const inbox = createInbox({
    pool,
    client,
    schema,
    since,
    secrets: secret,
    async onEvent({ type, data }, { tx }) {
      if (type !== 'transfer.status_changed' || data.status !== 'COMPLETED') return;
      await tx.query(`insert into ${schema}.shipments (transfer_id) values ($1)`, [data.id]);
    },
  });
  return {
    inbox,
    async migrate() {
      await pool.query(`create schema if not exists ${schema}`);
      await pool.query(
        `create table if not exists ${schema}.shipments (
           id serial primary key, transfer_id uuid not null, shipped_at timestamptz not null default now())`,
      );
      await inbox.migrate();
    },
    /** The transfers whose goods were shipped, in that order. */
    async shipments() {
      const { rows } = await pool.query(`select transfer_id from ${schema}.shipments order by id`);
      return rows.map((row) => row.transfer_id);
    },
  };
}
