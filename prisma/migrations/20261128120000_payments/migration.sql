-- A transfer keeps the Idempotency-Key of its creation, and the digest of that request's body.
alter table transfers add column idempotency_key text, add column request_digest bytea;
create unique index transfers_client_id_idempotency_key_key on transfers (client_id, idempotency_key)
  where idempotency_key is not null;

-- Public keys with which clients authenticate instead of a secret (RFC 7523).
alter table clients add column require_private_key boolean not null default false;

create table client_keys (
  id uuid primary key,
  client_id uuid not null references clients on delete restrict on update cascade,
  kid text,
  alg text,
  thumbprint text not null,
  public_jwk jsonb not null,
  created_at timestamptz(3) not null default current_timestamp
);
create unique index client_keys_client_id_thumbprint_key on client_keys (client_id, thumbprint);

create table used_assertions (
  client_id uuid not null,
  jti_hash bytea not null,
  expires_at timestamptz(3) not null,
  primary key (client_id, jti_hash)
);
create index used_assertions_expires_at_idx on used_assertions (expires_at);

-- What an endpoint asks for beyond its URL and secret.
alter table webhook_endpoints
  add column signatures text[] default array[]::text[],
  add column header_names text[] default array[]::text[],
  add column headers_envelope text,
  add column max_per_second integer,
  add column slowed_until timestamptz(3);
