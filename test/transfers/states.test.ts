import type { TransferStatus } from '../../src/platform/database/generated/enums.js';
import { NEXT_STATUSES, TRANSFER_STATUSES } from '../../src/transfers/states.js';

const ALLOWED = new Set([
  'CREATED>PROCESSING',
  'CREATED>CANCELLED',
  'CREATED>FAILED',
  'PROCESSING>SENT',
  'PROCESSING>CANCELLED',
  'PROCESSING>FAILED',
  'SENT>COMPLETED',
  'SENT>FAILED',
  'SENT>RETURNED',
  'COMPLETED>RETURNED',
]);
const PAIRS = TRANSFER_STATUSES.flatMap((from) => TRANSFER_STATUSES.map((to) => [from, to] as const));

describe('the state machine of a transfer', () => {
  it.each(PAIRS)('%s → %s is allowed or refused', (from: TransferStatus, to: TransferStatus) => {
    expect(NEXT_STATUSES[from].includes(to)).toBe(ALLOWED.has(`${from}>${to}`));
  });
});
