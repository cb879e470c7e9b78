import { describe, expect, it } from '@jest/globals';
import { openDatabase } from '../../src/database/database.js';
import { oneLine } from '../../src/process/explain.js';
import { Secret } from '../../src/secret.js';

describe('oneLine', () => {
  it('gives the same reason for a raw statement and for a query of Prisma', async () => {
    const database = openDatabase({ url: new Secret('postgresql://nobody@127.0.0.1:1/nothing'), poolSize: 1 });
    const errors = [database.query('select 1', []), database.prisma.client.findMany()].map((failing) =>
      failing.then(() => 'no error', oneLine),
    );
    expect(await Promise.all(errors)).toEqual(Array(2).fill("Can't reach database server at 127.0.0.1:1"));
    await database.close();
  });
});
