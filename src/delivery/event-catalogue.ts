import { z } from 'zod';
import { TransferStatus } from '../platform/database/generated/enums.js';
import { EXAMPLE_ID } from '../platform/ids.js';
import { EVENT_VERSION } from '../platform/vocabulary.js';

/**
 * The definition of one event type.
 * @param data the schema of the body's member `data`; its members are sent in this order
 * @param when the end of the sentence "Sent to your endpoint when …"
 * @param title the text after the type in the title of the event's workflow, for operators
 */
function define<Data extends z.ZodType>(data: Data, when: string, title: (data: z.output<Data>) => string) {
  // This service made the stored body by the same schema.
  return { data, when, title: (stored: unknown) => title(stored as z.output<Data>) };
}

/**
 * All event types. `GET /events`, the OpenAPI document and the titles of workflows are made from this list. A
 * producer appends events through `delivery/append.ts`.
 */
export const EVENT_CATALOGUE = {
  'transfer.status_changed': define(
    z.object({
      id: z.string().meta({ format: 'uuid', description: "The transfer's.", examples: [EXAMPLE_ID] }),
      status: z.enum(TransferStatus).meta({ description: 'The new status.', examples: ['SENT'] }),
    }),
    'the status of a transfer changes',
    ({ status }) => status,
  ),
};

export type EventType = keyof typeof EVENT_CATALOGUE;
export type EventData<Type extends EventType> = z.output<(typeof EVENT_CATALOGUE)[Type]['data']>;

export const EVENT_TYPES = Object.keys(EVENT_CATALOGUE) as [EventType, ...EventType[]];

interface EventContent<Type extends EventType> {
  type: Type;
  data: EventData<Type>;
}

/** The part of an event's JSON text that is known before its id and its time. */
export function eventContent<Type extends EventType>({ type, data }: EventContent<Type>): string {
  return JSON.stringify({ version: EVENT_VERSION, type, data }).slice(1, -1);
}

/**
 * SQL: the JSON text of an event, with the members in order. It is made once: every attempt signs and
 * sends exactly these bytes.
 * @param at timestamptz; written in UTC with three fraction digits and no zone designator
 */
export const eventBodySql = (id: string, content: string, at: string): string =>
  `'{"id":"' || ${id} || '",' || ${content} || ',"created_at":"'
      || to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') || '"}'`;

/** The same text for an event that is in no table. @param event.createdAt ms since 1970 */
export function eventBody<Type extends EventType>(
  event: EventContent<Type> & { id: string; createdAt: number },
): string {
  const createdAt = new Date(event.createdAt).toISOString().slice(0, -1);
  return `{"id":"${event.id}",${eventContent(event)},"created_at":"${createdAt}"}`;
}

/**
 * The title of an event's workflow, such as `transfer.status_changed SENT`. A type that only a later release knows is
 * the title itself.
 */
export function eventTitle(type: string, body: string): string {
  return isEventType(type) ? `${type} ${eventSubject(type, body)}` : type;
}

/**
 * What an event reports, without its type, such as `SENT`. A type that only a later release knows is the subject
 * itself.
 */
export function eventSubject(type: string, body: string): string {
  if (!isEventType(type)) return type;
  const { data } = JSON.parse(body) as { data: unknown };
  return EVENT_CATALOGUE[type].title(data);
}

function isEventType(type: string): type is EventType {
  return Object.hasOwn(EVENT_CATALOGUE, type);
}
