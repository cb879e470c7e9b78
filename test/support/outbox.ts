import type { Handle } from '../../src/platform/database/database.js';
import type { OutboxState } from '../../src/platform/database/generated/enums.js';

/** What the event's workflow has to learn; null: nothing. */
export async function outboxOf(db: Handle, eventId: string): Promise<OutboxState | null> {
  return (await db.prisma.outboxEvent.findUnique({ where: { eventId } }))?.state ?? null;
}

/** Gives the event a row that no process has leased, or none. */
export async function setOutbox(db: Handle, eventId: string, state: OutboxState | null): Promise<void> {
  await db.prisma.outboxEvent.deleteMany({ where: { eventId } });
  if (state === null) return;
  const { clientId } = await db.prisma.event.findUniqueOrThrow({ where: { id: eventId } });
  await db.prisma.outboxEvent.create({ data: { eventId, clientId, state } });
}

/** As if every workflow knew its event. */
export async function emptyOutbox(db: Pick<Handle, 'query'>): Promise<void> {
  await db.query('delete from outbox', []);
}
