import { describe, expect, it } from '@jest/globals';
import { problemResponse, refusalOf } from '../../src/http/response.js';
import type { Handle } from '../../src/platform/database/database.js';
import { Refusal } from '../../src/platform/refusal.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';

const db = await openTestDatabase();

const byModel = (tx: Handle, id: string) => tx.prisma.client.update({ where: { id }, data: { name: 'x' } });
const byStatement = (tx: Handle, id: string) =>
  tx.query(`update clients set name = 'x' where id = $1::uuid returning id`, [id]);

describe('the error for a fault', () => {
  it.each([
    ['a model', byModel],
    ['a statement', byStatement],
  ])('is unavailable for a deadlock of two transactions over %s', async (_, update) => {
    const [one, two] = [await makeClient(db), await makeClient(db)];
    let arrived = 0;
    let meet = () => {};
    const bothThere = new Promise<void>((resolve) => {
      meet = resolve;
    });
    const cross = (first: string, second: string) =>
      db.transaction(async (tx) => {
        await update(tx, first);
        if (++arrived === 2) meet();
        await bothThere;
        await update(tx, second);
      });
    const results = await Promise.allSettled([cross(one, two), cross(two, one)]);
    const failed = results.filter((result) => result.status === 'rejected');
    expect(failed.map(({ reason }) => refusalOf(reason).code)).toEqual(['unavailable']);
  });
});

it('a problem escapes a path that cannot be decoded, so that its instance is a URI reference', () => {
  const where = { baseUrl: 'https://api.test', path: '/a%2fb/%E0%A4%A', requestId: 'x' };
  expect(JSON.parse(problemResponse(new Refusal('malformed_request', 'x'), where).text)).toMatchObject({
    type: 'https://api.test/docs/guide#malformed_request',
    instance: '/a%2fb/%E0%A4%25A',
  });
});
