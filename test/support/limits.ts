import type { Handle } from '../../src/platform/database/database.js';

const MOVE = `
update limit_uses set uses = array(select at - $3::interval from unnest(uses) at order by at), ends_at = ends_at - $3::interval
 where name = $1 and key = $2`;
const SET = `
insert into limit_uses (name, key, uses, admitted, ends_at)
select $1, $2, array_fill(clock_timestamp() + $4::interval, array[$3::int]), true, now() + interval '1 hour'
on conflict (name, key) do update set uses = excluded.uses`;

/** Makes the uses of a key older. A process remembers for a second that the key was over its limit. */
export async function ageUses(db: Handle, name: string, key: string, by: string): Promise<void> {
  await db.query(MOVE, [name, key, by]);
}

/** Replaces the uses of a key by so many of one time, `from` now. */
export async function setUses(db: Handle, name: string, key: string, count: number, from = '0 s'): Promise<void> {
  await db.query(SET, [name, key, count, from]);
}

/** The number of uses that are stored for a key. */
export async function countUses(db: Handle, name: string, key: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    'select cardinality(uses) as count from limit_uses where name = $1 and key = $2',
    [name, key],
  );
  return row?.count ?? 0;
}
