import type { components } from './generated/openapi.js';

type Schemas = components['schemas'];

export type Transfer = Schemas['Transfer'];
export type TransferWithHistory = Schemas['TransferWithHistory'];
export type TransferStatus = Schemas['TransferStatus'];
export type NewTransfer = Schemas['NewTransfer'];
export type StatusChange = Schemas['StatusChange'];
export type WebhookEndpoint = Schemas['WebhookEndpoint'];
export type NewWebhookEndpoint = Schemas['NewWebhookEndpoint'];
/** The secret of an endpoint never changes: register a new endpoint instead. */
export type WebhookEndpointUpdate = Omit<Schemas['WebhookEndpointUpdate'], 'secret'>;
/** An event as it is delivered. */
export type DeliveredEvent = Schemas['DeliveredEvent'];
export type Event = Schemas['Event'];
export type Delivery = Schemas['Delivery'];
export type DeliveryWithAttempts = Schemas['DeliveryWithAttempts'];
export type DeliveryStatus = Schemas['DeliveryStatus'];
export type Attempt = Schemas['Attempt'];
export type RecoverRequest = Schemas['RecoverRequest'];
export type Recovered = Schemas['Recovered'];
export type SignatureExplanation = Schemas['SignatureExplanation'];
export type Meta = Schemas['Meta'];
