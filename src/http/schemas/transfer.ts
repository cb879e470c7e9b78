import { z } from 'zod';
import type { StatusChange } from '../../platform/database/generated/client.js';
import { isCurrency } from '../../transfers/currencies.js';
import { REASON_CODES, STATUSES_WITH_REASON_CODE, TRANSFER_STATUSES } from '../../transfers/states.js';
import type { Transfer } from '../../transfers/transfer-json.js';
import { components, present, requestBody, text, time, uuid, validationError, view } from './fields.js';

/**
 * A whole number by value: `1e3` and `1000.0` are 1000 (JSON has one kind of number, RFC 8259 §6). `int` limits it to
 * 2^53−1.
 */
const value = z
  .int(`must be a whole number of minor units, at most ${Number.MAX_SAFE_INTEGER}`)
  .min(1, 'must be at least 1')
  .meta({ description: 'In minor units of ISO 4217: 1250 is 12.50 EUR, 1,250 JPY or 1.250 KWD.', examples: [125_00] });

const currency = z
  .string()
  .refine(
    (code) => isCurrency(code),
    validationError('invalid_currency', 'must be an active ISO 4217 code in upper case'),
  )
  .meta({ description: 'ISO 4217', pattern: '^[A-Z]{3}$', examples: ['EUR'] });

const MAX_PAIRS = 20;
/** The size of all pairs as compact JSON in UTF-8. */
const MAX_METADATA_BYTES = 4_096;
const REFUSED_NAME = { params: { code: 'invalid_name' }, message: 'must not be the name of a pair' };

const metadata = z
  .preprocess(
    // zod silently drops this name from a record.
    (pairs, context) => {
      if (pairs instanceof Object && Object.hasOwn(pairs, '__proto__')) {
        context.addIssue({ code: 'custom', path: ['__proto__'], ...REFUSED_NAME });
      }
      // A pair that is null in the body is absent.
      return pairs instanceof Object && !Array.isArray(pairs)
        ? Object.fromEntries(Object.entries(pairs).filter(([, value]) => value !== undefined))
        : pairs;
    },
    z
      .record(text({ max: 40 }), text({ max: 500 }))
      .refine(
        (pairs) => Object.keys(pairs).length <= MAX_PAIRS,
        validationError('too_many', `may have at most ${MAX_PAIRS} pairs`),
      )
      .refine(
        (pairs) => Buffer.byteLength(JSON.stringify(pairs)) <= MAX_METADATA_BYTES,
        validationError('too_large', `may have at most ${MAX_METADATA_BYTES} bytes as compact JSON`),
      ),
  )
  .default({})
  .meta({
    description: `Your own pairs of strings; at most ${MAX_METADATA_BYTES} bytes in total as compact JSON in UTF-8. The name \`__proto__\` is rejected.`,
    maxProperties: MAX_PAIRS,
    examples: [{ order: '4711' }],
  });

const amount = requestBody('Amount', { value, currency });
const destination = requestBody('Destination', {
  name: text({ min: 1, max: 140 }).meta({ examples: ['Ada Lovelace'] }),
  account: text({ min: 1, max: 64 }).meta({ examples: ['DE89370400440532013000'] }),
});

export const newTransfer = requestBody('TransferCreate', {
  amount,
  destination,
  reference: text({ max: 140 })
    .nullable()
    .default(null)
    .meta({ examples: ['Invoice 2026-117'] }),
  metadata,
});

const reasonCodeName = z.enum(REASON_CODES).register(components, { id: 'ReasonCode' });

export const statusChange = z
  .strictObject({
    status: z.enum(TRANSFER_STATUSES).meta({ examples: ['PROCESSING'] }),
    reason: text({ max: 255 })
      .nullable()
      .default(null)
      .meta({ description: 'Recorded in the status history.', examples: ['Funds received'] }),
    reason_code: reasonCodeName
      .nullable()
      .default(null)
      .meta({
        description: `Allowed only with the statuses ${STATUSES_WITH_REASON_CODE.join(', ')}.`,
        examples: [null],
      }),
  })
  .refine(
    ({ status, reason_code }) => reason_code === null || STATUSES_WITH_REASON_CODE.includes(status),
    validationError('not_applicable', `may be given only with ${STATUSES_WITH_REASON_CODE.join(', ')}`, 'reason_code'),
  )
  .register(components, { id: 'StatusChange' });

export const transferStatus = z
  .enum(TRANSFER_STATUSES)
  .meta({ examples: ['CREATED'] })
  .register(components, { id: 'TransferStatus' });

const reasonCode = z.nullable(reasonCodeName).meta({
  description: 'Why the transfer failed, was returned or was cancelled; null if no code was given.',
  examples: [null],
});

export const transferView = view('Transfer', {
  id: uuid,
  status: transferStatus,
  reason_code: reasonCode,
  amount,
  destination,
  reference: z.nullable(z.string()).meta({ examples: ['Invoice 2026-117'] }),
  metadata: z.record(z.string(), z.string()).meta({ examples: [{ order: '4711' }] }),
  idempotency_key: z.nullable(z.string()).meta({
    description: 'The `Idempotency-Key` of its creation.',
    examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'],
  }),
  created_at: time,
  updated_at: time,
});

const historyEntry = view('StatusHistoryEntry', {
  status: transferStatus,
  at: time,
  reason: z.nullable(z.string()).meta({ examples: [null] }),
  reason_code: reasonCode,
});

const statusHistory = z.array(historyEntry).meta({ description: 'Oldest first; the first entry is `CREATED`.' });

export const transferWithHistoryView = view('TransferWithHistory', {
  ...transferView.shape,
  status_history: statusHistory,
});

/** One schema for both statuses: generated clients read every response by the schema of the lowest one. */
export const createdTransferView = view('CreatedTransfer', {
  ...transferView.shape,
  status_history: statusHistory
    .optional()
    .meta({ description: 'Only with 200, in the response to a late repeat. Oldest first.' }),
});

export const operatorTransferView = view('OperatorTransfer', { ...transferView.shape, client_id: uuid });

export const operatorTransferWithHistoryView = view('OperatorTransferWithHistory', {
  ...transferWithHistoryView.shape,
  client_id: uuid,
});

export function presentTransfer(transfer: Transfer) {
  return present(transferView, {
    ...transfer,
    amount: { value: Number(transfer.amountValue), currency: transfer.amountCurrency },
    destination: { name: transfer.destinationName, account: transfer.destinationAccount },
    metadata: transfer.metadata as Record<string, string>,
  });
}

type WithHistory = Transfer & { history: readonly StatusChange[] };

export const presentTransferWithHistory = (transfer: WithHistory) => ({
  ...presentTransfer(transfer),
  status_history: transfer.history.map((change) => present(historyEntry, change)),
});

/** As its client sees it, and whose it is. */
export const presentOperatorTransfer = (transfer: Transfer) => ({
  ...presentTransfer(transfer),
  client_id: transfer.clientId,
});

export const presentOperatorTransferWithHistory = (transfer: WithHistory) => ({
  ...presentTransferWithHistory(transfer),
  client_id: transfer.clientId,
});
