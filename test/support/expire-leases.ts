/**
 * Expires all leases, as if the process that held them had died long ago. A row that a living process has locked keeps
 * its lease: waiting for it could deadlock with that process.
 */
export async function expireLeases(db: { query(text: string, values: unknown[]): Promise<unknown> }): Promise<void> {
  await db.query(
    `update outbox set lease_until = now() - interval '1 second'
      where event_id in (select event_id from outbox where lease_until is not null for update skip locked)`,
    [],
  );
  await db.query(
    `update queue set lease_until = now() - interval '1 second'
      where delivery_id in (select delivery_id from queue where lease_until is not null for update skip locked)`,
    [],
  );
}
