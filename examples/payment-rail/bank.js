import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A stub of a bank, with a file for each payment. It accepts one payment for a reference and refuses a second one, from
 * any process, as your bank must. It rejects the account `REJECT` and settles every other payment at once.
 */
export function openBank(folder) {
  mkdirSync(folder, { recursive: true });
  const fileOf = (reference) => join(folder, `${reference}.json`);
  return {
    async pay(reference, { amount, destination }) {
      const payment =
        destination.account === 'REJECT'
          ? { state: 'rejected', reasonCode: 'rejected_by_bank' }
          : { state: 'settled', amount };
      const written = `${fileOf(reference)}.${process.pid}`;
      writeFileSync(written, JSON.stringify(payment));
      try {
        // Makes the whole file visible at once, or fails if it exists.
        linkSync(written, fileOf(reference));
        return payment;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
        throw Object.assign(new Error(`${reference} is already paid`), { code: 'duplicate_reference' });
      } finally {
        rmSync(written);
      }
    },

    async find(reference) {
      return JSON.parse(readFileSync(fileOf(reference), 'utf8'));
    },
  };
}
