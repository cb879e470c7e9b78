import type { Handle } from '../database/database.js';
import { isFree } from '../lease.js';

/** A slot that this worker holds, of those of an endpoint that do not divide equally among the workers. */
export interface SpareSlot {
  endpointId: string;
  /** 1 for the first. */
  slot: number;
  /** Another worker waits for it. */
  contested: boolean;
}

export interface Heartbeat {
  /** The number of live workers, with this one. */
  workers: number;
  /** The place of this one among them, from 0. */
  place: number;
  /** The spare slots that this worker holds. */
  slots: SpareSlot[];
}

/**
 * Says that this worker is alive, and renews its spare slots, both for `lifetime`. A row whose time lies too far ahead
 * was written by another clock (lease.ts) and does not count.
 * @param lifetime in ms, at most twice `LEASE.seconds`
 */
export async function beat(db: Handle, workerId: string, lifetime: number): Promise<Heartbeat> {
  const [row] = await db.query<Heartbeat>(BEAT, [workerId, lifetime]);
  if (!row) throw new Error('a heartbeat has no row');
  return row;
}

const BEAT = `
with alive as (
  insert into workers (id, alive_until) values ($1::uuid, now() + $2::int * interval '1 millisecond')
  on conflict (id) do update set alive_until = excluded.alive_until
), renewed as (
  update endpoint_slots set held_until = now() + $2::int * interval '1 millisecond' where worker_id = $1::uuid
  returning endpoint_id, slot, contested
)
select 1 + (select count(*)::int from workers where id <> $1::uuid and not ${isFree('alive_until')}) as workers,
       (select count(*)::int from workers where id < $1::uuid and not ${isFree('alive_until')}) as place,
       (select coalesce(json_agg(json_build_object(
          'endpointId', endpoint_id, 'slot', slot, 'contested', contested)), '[]') from renewed) as slots`;

/** The worker ends: its share and its spare slots are free at once. */
export async function leave(db: Handle, workerId: string): Promise<void> {
  await db.query(LEAVE, [workerId]);
}

const LEAVE = `
with left_slots as (delete from endpoint_slots where worker_id = $1::uuid)
delete from workers where id = $1::uuid`;

/** An endpoint that is short of slots in this process, and the number of its spare slots over all workers. */
export interface WantedSlot {
  endpointId: string;
  spare: number;
}

/**
 * Takes one free spare slot of each endpoint. Where none is free, the holders learn with their next heartbeat that
 * another worker waits.
 * @returns the slots that this worker has taken
 */
export function takeSpareSlots(
  db: Handle,
  workerId: string,
  wanted: readonly WantedSlot[],
  lifetime: number,
): Promise<Pick<SpareSlot, 'endpointId' | 'slot'>[]> {
  return db.query(TAKE, [workerId, wanted.map((w) => w.endpointId), wanted.map((w) => w.spare), lifetime]);
}

/** Rows are locked in the order of their keys, so that two workers never wait for each other in a ring. */
const TAKE = `
with wanted as (
  select * from unnest($2::uuid[], $3::int[]) as w(endpoint_id, spare)
), free as (
  select w.endpoint_id, f.slot
    from wanted w cross join lateral (
      select s.slot from generate_series(1, w.spare) as s(slot)
       where not exists (select from endpoint_slots h
                          where h.endpoint_id = w.endpoint_id and h.slot = s.slot and not ${isFree('h.held_until')})
       order by random() limit 1) f
), taken as (
  insert into endpoint_slots as h (endpoint_id, slot, worker_id, held_until)
  select endpoint_id, slot, $1::uuid, now() + $4::int * interval '1 millisecond' from free order by endpoint_id
  on conflict (endpoint_id, slot) do update
     set worker_id = excluded.worker_id, held_until = excluded.held_until, contested = false
   where ${isFree('h.held_until')}
  returning endpoint_id, slot
), denied as materialized (
  select endpoint_id, slot from endpoint_slots
   where endpoint_id in (select endpoint_id from wanted except select endpoint_id from free)
     and worker_id <> $1::uuid and not contested
   order by endpoint_id, slot for no key update
), contested as (
  update endpoint_slots h set contested = true from denied d
   where h.endpoint_id = d.endpoint_id and h.slot = d.slot
)
select endpoint_id as "endpointId", slot from taken`;

/** Gives spare slots back. */
export async function giveSpareSlots(
  db: Handle,
  workerId: string,
  slots: readonly Pick<SpareSlot, 'endpointId' | 'slot'>[],
): Promise<void> {
  await db.query(GIVE, [workerId, slots.map((s) => s.endpointId), slots.map((s) => s.slot)]);
}

const GIVE = `
delete from endpoint_slots h using unnest($2::uuid[], $3::int[]) as g(endpoint_id, slot)
 where h.endpoint_id = g.endpoint_id and h.slot = g.slot and h.worker_id = $1::uuid`;
