import { arrayLiteral } from '../../../src/platform/database/array-literal.js';
import { createTestDatabase } from '../../support/database.js';

test('writes arrays that Postgres reads as the same values', async () => {
  const db = await createTestDatabase();
  try {
    const id = '019abe01-7a10-7c44-9d02-3f1f6f0c8a11';
    const { rows } = await db.pool.query(
      'select $1::uuid[] as ids, $2::int[] as numbers, $3::boolean[] as flags, $4::text[] as names, $5::text[] as none',
      [[id, null], [1, null, -2], [true, false], ['succeeded', null], []].map(arrayLiteral),
    );
    expect(rows).toEqual([
      { ids: [id, null], numbers: [1, null, -2], flags: [true, false], names: ['succeeded', null], none: [] },
    ]);
  } finally {
    await db.drop();
  }
});
