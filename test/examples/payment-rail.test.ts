import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, it } from '@jest/globals';
import type { TransferStatus } from '../../src/platform/database/generated/enums.js';
import { NEXT_STATUSES } from '../../src/transfers/states.js';
import { openFolder } from '../support/folder.js';

interface Rail {
  resume(): Promise<void>;
  round(): Promise<number>;
}
interface Bank {
  pay(reference: string, order: object): Promise<unknown>;
  find(reference: string): Promise<unknown>;
}
let createRail: (operator: object, bank: Bank, log: () => void) => Rail;
let openBank: (folder: string) => Bank;
const folder = openFolder();

beforeAll(async () => {
  const load = (name: string) =>
    import(pathToFileURL(join(import.meta.dirname, '../../examples/payment-rail', name)).href);
  ({ createRail } = await load('rail.js'));
  ({ openBank } = await load('bank.js'));
});
const ACCOUNTS = ['DE89370400440532013000', 'REJECT', 'GB82WEST12345698765432'];

/** A service with three new transfers, and a bank. */
function begin(name: string) {
  const transfers = ACCOUNTS.map((account, i) => ({
    id: `transfer-${i}`,
    status: 'CREATED' as TransferStatus,
    amount: { value: 100, currency: 'EUR' },
    destination: { name: 'Ada', account },
  }));
  const bank = openBank(join(folder, name));
  let paid = 0;
  /** A process of the rail. It dies at its call number `last`: before the call takes effect, or after it. */
  function start(last = Number.POSITIVE_INFINITY, when: 'before' | 'after' = 'before'): Rail {
    let calls = 0;
    const call = async <T>(run: () => T | Promise<T>): Promise<T> => {
      const isLast = ++calls >= last;
      if (isLast && (when === 'before' || calls > last)) throw new Error('killed');
      const result = await run();
      if (isLast) throw new Error('killed');
      return result;
    };
    const operator = {
      listTransfers({ status }: { status: string }) {
        const page = () =>
          call(() => ({ data: transfers.filter((one) => one.status === status).map((one) => ({ ...one })) }));
        return {
          page,
          async *[Symbol.asyncIterator]() {
            yield* (await page()).data;
          },
        };
      },
      setTransferStatus: (id: string, { status, reason_code }: { status: TransferStatus; reason_code?: string }) =>
        call(() => {
          const transfer = transfers.find((one) => one.id === id)!;
          if (!NEXT_STATUSES[transfer.status].includes(status))
            throw Object.assign(new Error(), { code: 'invalid_transition' });
          Object.assign(transfer, { status, reason_code });
        }),
    };
    const counted: Bank = {
      pay: (reference, order) =>
        call(async () => {
          const payment = await bank.pay(reference, order);
          paid++;
          return payment;
        }),
      find: (reference) => call(() => bank.find(reference)),
    };
    return createRail(operator, counted, () => {});
  }
  const outcome = () => ({ paid, statuses: transfers.map(({ status }) => status) });
  return { start, outcome };
}

const run = async (rail: Rail) => {
  await rail.resume();
  while ((await rail.round()) > 0);
};
const DONE = { paid: 3, statuses: ['COMPLETED', 'FAILED', 'COMPLETED'] };

it.each(['before', 'after'] as const)(
  'pays each transfer once and leaves none if it is killed %s any call',
  async (when) => {
    let kills = 0;
    for (let last = 1; ; last++) {
      const { start, outcome } = begin(`${when}-${last}`);
      const killed = await run(start(last, when)).then(
        () => false,
        () => true,
      );
      if (!killed) break;
      kills++;
      await run(start());
      expect({ last, ...outcome() }).toEqual({ last, ...DONE });
    }
    expect(kills).toBeGreaterThan(10);
  },
);

it('pays each transfer once if it is started twice, also while another process resumes', async () => {
  for (let last = 1; last <= 12; last++) {
    const { start, outcome } = begin(`twice-${last}`);
    await Promise.allSettled([run(start(last)), run(start()), run(start())]);
    await run(start());
    expect({ last, ...outcome() }).toEqual({ last, ...DONE });
  }
  expect(readdirSync(join(folder, 'twice-1'))).toHaveLength(3);
});
