/** Expires all leases, as if the process that held them had died long ago. */
export async function expireLeases(db: { query(text: string, values: unknown[]): Promise<unknown> }): Promise<void> {
  await db.query(`update events set lease_until = now() - interval '1 second' where outbox <> 'done'`, []);
  await db.query(`update queue set lease_until = now() - interval '1 second' where lease_until is not null`, []);
}
