import { defineSearchAttributeKey } from '@temporalio/common';

/** What an operator filters by in Temporal's UI. `migrate` registers them. */
export const ClientId = defineSearchAttributeKey('ClientId', 'KEYWORD');
export const TransferId = defineSearchAttributeKey('TransferId', 'KEYWORD');
export const EventType = defineSearchAttributeKey('EventType', 'KEYWORD');
export const WebhookIds = defineSearchAttributeKey('WebhookIds', 'KEYWORD_LIST');
export const DeliveryState = defineSearchAttributeKey('DeliveryState', 'KEYWORD');

export const SEARCH_ATTRIBUTES = [ClientId, TransferId, EventType, WebhookIds, DeliveryState];

/** How an event stands as a whole. Set at the start, and once more at the end where it has changed. */
export type DeliveryStateValue = 'delivered' | 'retrying' | 'exhausted' | 'cancelled';
