-- The whole schema. prisma/schema.prisma says what tables and columns mean; comments here are about what Prisma's
-- schema cannot express. test/platform/database/schema.test.ts compares the two.

-- Clients and their sign-ins

create table clients (
  id uuid primary key,
  name text not null,
  scopes text[],
  networks text[],
  rate_limit integer,
  max_endpoints integer,
  created_at timestamptz(3) not null default current_timestamp,
  revoked_at timestamptz(3),
  erased_at timestamptz(3)
);

create table client_secrets (
  id uuid primary key,
  client_id uuid not null references clients on delete restrict on update cascade,
  hash bytea not null,
  created_at timestamptz(3) not null default current_timestamp,
  expires_at timestamptz(3),
  revoked_at timestamptz(3)
);
create index client_secrets_client_id_idx on client_secrets (client_id);

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  private_key_envelope text not null,
  created_at timestamptz(3) not null default current_timestamp,
  retired_at timestamptz(3)
);

create table console_sessions (
  id uuid primary key,
  token_hash bytea not null,
  client_id uuid not null,
  secret_id uuid,
  role text not null,
  scopes text[],
  signed_in_by text not null,
  address text not null,
  notice text,
  created_at timestamptz(3) not null default current_timestamp,
  last_seen_at timestamptz(3) not null default current_timestamp
);
create unique index console_sessions_token_hash_key on console_sessions (token_hash);
create index console_sessions_client_id_last_seen_at_idx on console_sessions (client_id, last_seen_at);
create index console_sessions_last_seen_at_idx on console_sessions (last_seen_at);

create table console_codes (
  id uuid primary key,
  code_hash bytea not null,
  client_id uuid not null,
  secret_id uuid,
  role text not null,
  scopes text[],
  expires_at timestamptz(3) not null
);
create unique index console_codes_code_hash_key on console_codes (code_hash);
create index console_codes_client_id_expires_at_idx on console_codes (client_id, expires_at);
create index console_codes_expires_at_idx on console_codes (expires_at);

-- Endpoints

create table webhook_endpoints (
  id uuid primary key,
  client_id uuid not null references clients on delete restrict on update cascade,
  url text not null,
  secret_envelope text,
  description text,
  enabled boolean not null default true,
  disabled_reason text,
  max_concurrency integer,
  enabled_at timestamptz(3) not null default current_timestamp,
  created_at timestamptz(3) not null default current_timestamp,
  updated_at timestamptz(3) not null default current_timestamp,
  deleted_at timestamptz(3),
  cancelling_after uuid,
  periods_known_since timestamptz(3) not null default current_timestamp
);
create index webhook_endpoints_client_id_id_idx on webhook_endpoints (client_id, id desc) where deleted_at is null;
create index webhook_endpoints_deleted_idx on webhook_endpoints (client_id) where deleted_at is not null;
create index webhook_endpoints_cancelling_idx on webhook_endpoints (id) where cancelling_after is not null;

create table endpoint_disabled_periods (
  id bigserial primary key,
  endpoint_id uuid not null references webhook_endpoints on delete cascade on update cascade,
  started_at timestamptz(3) not null,
  ended_at timestamptz(3),
  reason text not null
);
create index endpoint_disabled_periods_endpoint_id_started_at_id_idx
  on endpoint_disabled_periods (endpoint_id, started_at desc, id desc);
create index endpoint_disabled_periods_ended_at_idx on endpoint_disabled_periods (ended_at);

-- A trigger keeps the periods, so that every change of an endpoint writes them in its own statement. The row lock of the
-- change puts the periods of an endpoint in order.
create function keep_disabled_periods() returns trigger language plpgsql as $$
declare
  -- Not now(): a transaction may have waited for the row since its start.
  changed_at timestamptz(3) := case tg_op when 'INSERT' then new.created_at else clock_timestamp() end;
begin
  if tg_op = 'UPDATE' then
    update endpoint_disabled_periods set ended_at = greatest(changed_at, started_at)
     where endpoint_id = new.id and ended_at is null;
  end if;
  if not new.enabled and new.deleted_at is null then
    insert into endpoint_disabled_periods (endpoint_id, started_at, reason)
    values (new.id, changed_at, coalesce(new.disabled_reason, 'owner'));
  end if;
  return null;
end $$;

create trigger disabled_periods_of_new_endpoint after insert on webhook_endpoints
for each row when (not new.enabled) execute function keep_disabled_periods();

create trigger disabled_periods_of_changed_endpoint after update of enabled, disabled_reason, deleted_at on webhook_endpoints
for each row when (
  (old.enabled, old.disabled_reason, old.deleted_at) is distinct from (new.enabled, new.disabled_reason, new.deleted_at)
) execute function keep_disabled_periods();

create table endpoint_hours (
  endpoint_id uuid not null,
  hour timestamptz(3) not null,
  succeeded integer not null,
  failed integer not null,
  answer_times integer[],
  last_success_at timestamptz(3),
  last_failure_at timestamptz(3),
  failing_since timestamptz(3),
  last_error text,
  last_response_status integer,
  primary key (endpoint_id, hour)
);
create index endpoint_hours_hour_idx on endpoint_hours (hour);

-- Transfers

create type transfer_status as enum ('CREATED', 'PROCESSING', 'SENT', 'COMPLETED', 'CANCELLED', 'FAILED', 'RETURNED');

create table transfers (
  id uuid primary key,
  client_id uuid not null,
  amount_value bigint not null,
  amount_currency char(3) not null,
  destination_name text not null,
  destination_account text not null,
  reference text,
  metadata jsonb not null default '{}',
  status transfer_status not null default 'CREATED',
  reason_code text,
  created_at timestamptz(3) not null default current_timestamp,
  updated_at timestamptz(3) not null default current_timestamp
);
create index transfers_client_id_id_idx on transfers (client_id, id desc);
create index transfers_client_id_status_id_idx on transfers (client_id, status, id desc);
create index transfers_client_id_reference_id_idx on transfers (client_id, reference, id desc) where reference is not null;
create index transfers_unfinished_idx on transfers (status, id desc) where status in ('CREATED', 'PROCESSING', 'SENT');

create table transfer_status_history (
  transfer_id uuid not null references transfers on delete restrict on update cascade,
  position integer not null,
  status transfer_status not null,
  at timestamptz(3) not null,
  reason text,
  reason_code text,
  primary key (transfer_id, position)
);

create table sandbox_transfers (
  transfer_id uuid primary key references transfers on delete restrict on update cascade,
  client_id uuid not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  steps_made integer not null default 0,
  ended_at timestamptz(3)
);
create index sandbox_transfers_client_id_created_at_idx on sandbox_transfers (client_id, created_at);
create index sandbox_transfers_client_id_idx on sandbox_transfers (client_id) where ended_at is null;
create index sandbox_transfers_ended_at_idx on sandbox_transfers (ended_at);

-- Events, deliveries and attempts

create type delivery_status as enum ('pending', 'succeeded', 'failed', 'cancelled');

create table events (
  id uuid primary key,
  client_id uuid not null,
  transfer_id uuid not null,
  type text not null,
  body text not null,
  created_at timestamptz(3) not null,
  traceparent text
);
create index events_client_id_id_idx on events (client_id, id desc);
create index events_client_id_transfer_id_id_idx on events (client_id, transfer_id, id desc);

create type outbox_state as enum ('again', 'start', 'delivered');

create table outbox (
  event_id uuid primary key,
  client_id uuid not null,
  state outbox_state not null,
  lease_until timestamptz(6)
);
create index outbox_client_id_state_event_id_idx on outbox (client_id, state, event_id);

create table deliveries (
  id uuid primary key,
  event_id uuid not null references events on delete restrict on update cascade,
  endpoint_id uuid not null,
  client_id uuid not null,
  status delivery_status not null default 'pending',
  reason text,
  attempt_count integer not null default 0,
  ladder text not null,
  rung integer not null default 0,
  next_attempt_at timestamptz(3),
  asleep boolean not null default false,
  recovered boolean not null default false,
  created_at timestamptz(3) not null default current_timestamp,
  finished_at timestamptz(3)
);
create index deliveries_event_id_idx on deliveries (event_id);
create index deliveries_endpoint_id_id_idx on deliveries (endpoint_id, id desc);
create index deliveries_endpoint_id_status_id_idx on deliveries (endpoint_id, status, id desc);
create index deliveries_next_attempt_at_idx on deliveries (next_attempt_at) where asleep;

create type queue_line as enum ('fresh', 'late');

create table queue (
  delivery_id uuid primary key,
  client_id uuid not null,
  endpoint_id uuid not null,
  line queue_line not null,
  due_at timestamptz(3) not null,
  trigger text not null,
  lease_token uuid,
  lease_until timestamptz(3)
);
create index queue_free_idx on queue (endpoint_id, line, due_at, delivery_id) where lease_until is null;
create index queue_leased_idx on queue (lease_until) where lease_until is not null;

create table attempts (
  delivery_id uuid not null references deliveries on delete restrict on update cascade,
  number integer not null,
  trigger text not null,
  url text not null,
  t text not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  response_status integer,
  response_headers jsonb,
  response_body text,
  error text,
  detail text,
  primary key (delivery_id, number)
);

-- Retention deletes the oldest rows, and reads of the oldest row pass over the dead index entries until a vacuum: 770
-- pages for 200,000 of them. By default, a vacuum comes only when a fifth of the table is dead.
alter table events set (autovacuum_vacuum_scale_factor = 0.05);
alter table deliveries set (autovacuum_vacuum_scale_factor = 0.05);
alter table attempts set (autovacuum_vacuum_scale_factor = 0.05);
-- Every row of these is soon dead, and a scan passes over the dead ones before the first that lives.
alter table queue set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
alter table outbox set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Workflows other than those of events

create table workflow_starts (
  workflow_id text primary key,
  type text not null,
  task_queue text not null,
  client_id uuid not null,
  endpoint_id uuid,
  transfer_id uuid,
  input jsonb not null,
  summary text not null,
  renewed_within integer not null,
  started_at timestamptz(3),
  start_after timestamptz(6) not null default current_timestamp,
  created_at timestamptz(3) not null default current_timestamp
);
create index workflow_starts_client_id_type_start_after_idx on workflow_starts (client_id, type, start_after);
create index workflow_starts_start_after_idx on workflow_starts (start_after);

-- Live processes. The tables are unlogged: schema.prisma says why.

create unlogged table workers (
  id uuid primary key,
  alive_until timestamptz(3) not null
);

create unlogged table apis (
  id uuid primary key,
  alive_until timestamptz(3) not null
);

-- Stored responses and limits

create table idempotency_keys (
  client_id uuid not null references clients on delete restrict on update cascade,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  headers jsonb not null,
  body text not null,
  created_at timestamptz(3) not null default current_timestamp,
  primary key (client_id, key)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);

create table limit_uses (
  name text not null,
  key text not null,
  uses timestamptz(3)[],
  admitted boolean not null,
  ends_at timestamptz(3) not null,
  primary key (name, key)
);
create index limit_uses_ends_at_idx on limit_uses (ends_at);

-- Checks of receivers

create table recoveries (
  id uuid primary key,
  client_id uuid not null,
  endpoint_id uuid not null,
  since timestamptz(3) not null,
  until timestamptz(3) not null,
  include_missing boolean not null,
  count integer not null,
  missing integer not null,
  started integer not null default 0,
  status text not null default 'running',
  created_at timestamptz(3) not null default current_timestamp,
  finished_at timestamptz(3)
);
create index recoveries_endpoint_id_id_idx on recoveries (endpoint_id, id desc);
create index recoveries_finished_at_idx on recoveries (finished_at);

create table receiver_checks (
  id uuid primary key,
  client_id uuid not null,
  endpoint_id uuid not null,
  status text not null default 'running',
  started_at timestamptz(3) not null default current_timestamp,
  finished_at timestamptz(3)
);
create index receiver_checks_running_idx on receiver_checks (endpoint_id) where finished_at is null;
create index receiver_checks_endpoint_id_started_at_idx on receiver_checks (endpoint_id, started_at);
create index receiver_checks_started_at_idx on receiver_checks (started_at);

create table receiver_check_cases (
  check_id uuid not null references receiver_checks on delete cascade on update cascade,
  position integer not null,
  name text not null,
  response_status integer,
  error text,
  passed boolean not null,
  hint text,
  request_headers jsonb,
  request_body text,
  primary key (check_id, position)
);

-- Audit

create table audit_entries (
  id uuid primary key,
  at timestamptz(3) not null default current_timestamp,
  actor text not null,
  database_role text not null default session_user,
  action text not null,
  target text,
  details jsonb not null default '{}'
);
create index audit_entries_target_id_idx on audit_entries (target, id desc);
create index audit_entries_actor_id_idx on audit_entries (actor, id desc);
create index audit_entries_action_id_idx on audit_entries (action text_pattern_ops, id desc);
