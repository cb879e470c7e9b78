import { defineSearchAttributeKey } from '@temporalio/common';

/** Search attributes that an operator filters by in Temporal's UI. `migrate` registers them. */
export const ClientId = defineSearchAttributeKey('ClientId', 'KEYWORD');
export const TransferId = defineSearchAttributeKey('TransferId', 'KEYWORD');
export const EventType = defineSearchAttributeKey('EventType', 'KEYWORD');
export const WebhookIds = defineSearchAttributeKey('WebhookIds', 'KEYWORD_LIST');
export const DeliveryState = defineSearchAttributeKey('DeliveryState', 'KEYWORD');

export const SEARCH_ATTRIBUTES = [ClientId, TransferId, EventType, WebhookIds, DeliveryState];

/** The state of a whole event. It is set at the start of each run, and once more at the end if it has changed. */
export type DeliveryStateValue = 'delivered' | 'retrying' | 'exhausted' | 'cancelled';
