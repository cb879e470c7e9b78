alter table clients add column notify_url text, add column notify_secret_envelope text;

create table notifications (
  id uuid primary key,
  type text not null,
  client_id uuid,
  endpoint_id uuid,
  body text not null,
  open boolean not null,
  routed boolean not null default false,
  created_at timestamptz(3) not null default current_timestamp
);
create index notifications_client_id_id_idx on notifications (client_id, id desc);
create index notifications_endpoint_id_type_created_at_idx on notifications (endpoint_id, type, created_at desc);
create index notifications_open_idx on notifications (endpoint_id) where open;
create index notifications_unrouted_idx on notifications (id) where not routed;
create index notifications_created_at_idx on notifications (created_at);

create table notifications_seen (client_id uuid primary key, last uuid not null);

create index webhook_endpoints_kept_idx on webhook_endpoints (id) where deleted_at is null;
