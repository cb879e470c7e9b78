-- Neither a sequence, which a logical copy leaves behind, nor a trigger, which writes the copied rows a second time. The
-- statement that changes an endpoint is followed by one that keeps its periods (src/endpoints/disabled-periods.ts).
drop trigger disabled_periods_of_new_endpoint on webhook_endpoints;
drop trigger disabled_periods_of_changed_endpoint on webhook_endpoints;
drop function keep_disabled_periods();

-- The periods of an endpoint do not overlap: of those that start in one millisecond, only the last has a length.
delete from endpoint_disabled_periods p using endpoint_disabled_periods later
 where later.endpoint_id = p.endpoint_id and later.started_at = p.started_at and later.id > p.id;
alter table endpoint_disabled_periods drop column id, add primary key (endpoint_id, started_at);
