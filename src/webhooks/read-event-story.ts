import { SHOWN_ATTEMPTS } from '../attempts.js';
import type { Handle } from '../database/database.js';
import type { Delivery, Endpoint, Event } from '../database/generated/client.js';
import { Refusal } from '../refusal.js';
import { type LastAttempt, readAttemptSummaries } from './read-attempts.js';

/** What a reader of a delivery needs to know about its endpoint, also after its deletion. */
export type StoryEndpoint = Pick<Endpoint, 'id' | 'url' | 'description' | 'enabled' | 'disabledReason' | 'deletedAt'>;

/** A delivery with what was attempted and where to. */
export type StoryDelivery = Delivery & {
  endpoint: StoryEndpoint;
  /** The latest `SHOWN_ATTEMPTS`, oldest first. */
  attempts: readonly LastAttempt[];
};

/** An event with the story of each delivery: what happened to it, and what is still to come. */
export interface EventStory {
  event: Pick<Event, 'id' | 'type' | 'transferId' | 'body' | 'createdAt'>;
  /** In the order in which they were made. */
  deliveries: readonly StoryDelivery[];
}

const EVENT = { id: true, type: true, transferId: true, body: true, createdAt: true } as const;
const WITH_ENDPOINT = {
  endpoint: {
    select: { id: true, url: true, description: true, enabled: true, disabledReason: true, deletedAt: true },
  },
} as const;

/**
 * Reads an event and a page of its deliveries, with summaries of their attempts: four statements for any number of them.
 * @param range.after only deliveries made after this one, the last of the page before
 * @throws Refusal not_found
 */
export async function readEventStory(
  db: Handle,
  clientId: string,
  eventId: string,
  { after, take }: { after?: string | undefined; take: number },
): Promise<EventStory> {
  const event = await db.prisma.event.findFirst({ where: { id: eventId, clientId }, select: EVENT });
  if (!event) throw new Refusal('not_found', 'There is no such event.');
  const deliveries = await db.prisma.delivery.findMany({
    where: { eventId, clientId, ...(after !== undefined && { id: { gt: after } }) },
    orderBy: { id: 'asc' },
    take,
    include: WITH_ENDPOINT,
  });
  return { event, deliveries: await withAttempts(db, deliveries) };
}

/** Reads one delivery with its event. @throws Refusal not_found */
export async function readDeliveryStory(
  db: Handle,
  clientId: string,
  id: string,
): Promise<{ event: EventStory['event']; delivery: StoryDelivery }> {
  const row = await db.prisma.delivery.findFirst({
    where: { id, clientId },
    include: { ...WITH_ENDPOINT, event: { select: EVENT } },
  });
  if (!row) throw new Refusal('not_found', 'There is no such delivery.');
  const { event, ...delivery } = row;
  const [story] = await withAttempts(db, [delivery]);
  return { event, delivery: story ?? { ...delivery, attempts: [] } };
}

async function withAttempts(db: Handle, rows: readonly Omit<StoryDelivery, 'attempts'>[]): Promise<StoryDelivery[]> {
  const attempted = rows.filter(({ attemptCount }) => attemptCount > 0).map(({ id }) => id);
  const attempts = await readAttemptSummaries(db, attempted, SHOWN_ATTEMPTS);
  return rows.map((row) => ({
    ...row,
    // An attempt recorded after the row was read would contradict the row.
    attempts: (attempts.get(row.id) ?? []).filter(({ number }) => number <= row.attemptCount),
  }));
}

/** Finds the event that an id of an event or of a delivery leads to. */
export async function findEventOf(
  db: Handle,
  clientId: string,
  id: string,
): Promise<{ eventId: string; deliveryId: string | null } | undefined> {
  const event = await db.prisma.event.findFirst({ where: { id, clientId }, select: { id: true } });
  if (event) return { eventId: event.id, deliveryId: null };
  const delivery = await db.prisma.delivery.findFirst({ where: { id, clientId }, select: { eventId: true } });
  return delivery ? { eventId: delivery.eventId, deliveryId: id } : undefined;
}
