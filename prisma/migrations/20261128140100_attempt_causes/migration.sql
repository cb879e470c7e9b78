-- Failed attempts of an hour by cause: the status of the response, or the error. `endpoint_hours` also gets the totals
-- of each client and, with the nil UUID, of all: the past of the last two days.
alter table endpoint_hours add column causes jsonb not null default '{}';

with owned as (
  select o.id, h.hour, h.succeeded, h.failed, h.answer_times, h.last_success_at, h.last_failure_at
    from endpoint_hours h join webhook_endpoints e on e.id = h.endpoint_id
   cross join lateral (values (e.client_id), ('00000000-0000-0000-0000-000000000000'::uuid)) o(id)
), times as (
  select id, hour, array_agg(n::int order by bucket) as answer_times
    from (select id, hour, bucket, sum(counted) as n
            from owned cross join lateral unnest(answer_times) with ordinality t(counted, bucket)
           group by id, hour, bucket) b
   group by id, hour
)
insert into endpoint_hours (endpoint_id, hour, succeeded, failed, answer_times, last_success_at, last_failure_at)
select s.id, s.hour, s.succeeded, s.failed, coalesce(t.answer_times, '{}'), s.last_success_at, s.last_failure_at
  from (select id, hour, sum(succeeded)::int as succeeded, sum(failed)::int as failed,
               max(last_success_at) as last_success_at, max(last_failure_at) as last_failure_at
          from owned group by id, hour) s
  left join times t on t.id = s.id and t.hour = s.hour;
