import type { components } from './generated/openapi.js';

type Schemas = components['schemas'];
/** A schema of the API as it is in the OpenAPI document. */
type Schema<Name extends keyof Schemas> = Schemas[Name];

export interface Transfer extends Schema<'Transfer'> {}
export interface TransferWithHistory extends Schema<'TransferWithHistory'> {}
export interface Client extends Schema<'OperatorClient'> {}
export interface OperatorTransfer extends Schema<'OperatorTransfer'> {}
export interface OperatorTransferWithHistory extends Schema<'OperatorTransferWithHistory'> {}
export type TransferStatus = Schemas['TransferStatus'];
export interface NewTransfer extends Schema<'TransferCreate'> {}
export interface StatusChange extends Schema<'StatusChange'> {}
export interface WebhookEndpoint extends Schema<'WebhookEndpoint'> {}
export interface WebhookEndpointHealth extends Schema<'WebhookEndpointHealth'> {}
export interface NewWebhookEndpoint extends Schema<'WebhookEndpointCreate'> {}
/** The secret of an endpoint never changes: register a new endpoint instead. */
export interface WebhookEndpointUpdate extends Schema<'WebhookEndpointUpdate'> {}
export interface WebhookEndpointPatch extends Schema<'WebhookEndpointPatch'> {}
/** An event as it is delivered. */
export interface DeliveredEvent extends Schema<'DeliveredEvent'> {}
export interface Event extends Schema<'Event'> {}
export interface Delivery extends Schema<'Delivery'> {}
export interface DeliveryWithAttempts extends Schema<'DeliveryWithAttempts'> {}
export type DeliveryStatus = Schemas['DeliveryStatus'];
export interface Attempt extends Schema<'Attempt'> {}
export interface RecoverRequest extends Schema<'RecoveryRequest'> {}
export interface Recovered extends Schema<'Recovered'> {}
/** A recovery of an endpoint and its progress. */
export interface Recovery extends Schema<'Recovery'> {}
export interface SignatureExplanation extends Schema<'SignatureExplanation'> {}
export interface Meta extends Schema<'Meta'> {}
export interface Statement extends Schema<'Statement'> {}
export interface StartedReceiverCheck extends Schema<'StartedReceiverCheck'> {}
export interface ReceiverCheck extends Schema<'ReceiverCheck'> {}
