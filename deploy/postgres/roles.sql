-- Makes the roles of one environment, and the databases that they own. Run it with psql as a superuser, or as a role with
-- CREATEDB and CREATEROLE, on the server's database `postgres`. Safe to run again, which sets the passwords anew.
-- DATABASE_OWNER_PASSWORD, DATABASE_RUNTIME_PASSWORD and TEMPORAL_DATABASE_PASSWORD are read from the environment, so
-- that no password is in a list of processes.
--   owner    owns the tables and runs `migrate`
--   runtime  runs APIs, workers and commands: reads and writes rows. `migrate` grants it its rights (DATABASE_RUNTIME_ROLE)
--   api, worker  made only with DATABASE_API_PASSWORD and DATABASE_WORKER_PASSWORD: APIs and workers then run as roles of
--            their own (DATABASE_API_ROLE, DATABASE_WORKER_ROLE), and commands as runtime
--   temporal owns Temporal's two databases, and cannot connect to the service's
-- Other names: psql -v owner=… -v runtime=… -v api=… -v worker=… -v temporal=… -v database=… -v temporal_database=…
\set ON_ERROR_STOP on
\set QUIET on
\if :{?owner} \else \set owner transfer_service_owner \endif
\if :{?runtime} \else \set runtime transfer_service_runtime \endif
\if :{?api} \else \set api transfer_service_api \endif
\if :{?worker} \else \set worker transfer_service_worker \endif
\if :{?temporal} \else \set temporal temporal \endif
\if :{?database} \else \set database transfer_service \endif
\if :{?temporal_database} \else \set temporal_database temporal \endif
\set visibility_database :temporal_database _visibility
\getenv owner_password DATABASE_OWNER_PASSWORD
\getenv runtime_password DATABASE_RUNTIME_PASSWORD
\getenv api_password DATABASE_API_PASSWORD
\getenv worker_password DATABASE_WORKER_PASSWORD
\getenv temporal_password TEMPORAL_DATABASE_PASSWORD

select format('create role %I', name) from unnest(array[:'owner', :'runtime', :'temporal']) as name
 where name not in (select rolname from pg_roles) \gexec
alter role :"owner" login nocreatedb nocreaterole password :'owner_password';
alter role :"runtime" login nocreatedb nocreaterole password :'runtime_password';
alter role :"temporal" login nocreatedb nocreaterole password :'temporal_password';

-- The settings of src/platform/database/server-settings.ts. The service sends them itself, but a transaction pooler passes none on.
alter role :"runtime" set statement_timeout = '25s';
alter role :"runtime" set idle_in_transaction_session_timeout = '30s';
alter role :"runtime" set lock_timeout = '0';
alter role :"runtime" set idle_session_timeout = '0';
alter role :"runtime" set enable_seqscan = 'off';
alter role :"runtime" set timezone = 'UTC';
alter role :"runtime" set datestyle = 'ISO,MDY';
alter role :"runtime" set intervalstyle = 'postgres';
alter role :"runtime" set bytea_output = 'hex';
alter role :"runtime" set extra_float_digits = '1';
alter role :"runtime" set standard_conforming_strings = 'on';
alter role :"runtime" set array_nulls = 'on';
alter role :"runtime" set search_path = 'public';
alter role :"runtime" set default_transaction_isolation = 'read committed';
alter role :"runtime" set tcp_keepalives_idle = '30s';
alter role :"runtime" set tcp_keepalives_interval = '10s';
alter role :"runtime" set tcp_keepalives_count = '3';
alter role :"runtime" set tcp_user_timeout = '60s';

\if :{?api_password}
select format('create role %I', name) from unnest(array[:'api', :'worker']) as name
 where name not in (select rolname from pg_roles) \gexec
alter role :"api" login nocreatedb nocreaterole password :'api_password';
alter role :"worker" login nocreatedb nocreaterole password :'worker_password';
select format('alter role %I set %I to %L', name, split_part(setting, '=', 1), split_part(setting, '=', 2))
  from pg_roles, unnest(rolconfig) as setting, unnest(array[:'api', :'worker']) as name where rolname = :'runtime' \gexec
\endif

-- A role with CREATEROLE that is no superuser may give a database only to a role that it is a member of.
select format('grant %I to current_user', name) from unnest(array[:'owner', :'temporal']) as name
 where not pg_has_role(name, 'member') \gexec
select format('create database %I', name) from unnest(array[:'database', :'temporal_database', :'visibility_database']) as name
 where name not in (select datname from pg_database) \gexec
alter database :"database" owner to :"owner";
alter database :"temporal_database" owner to :"temporal";
alter database :"visibility_database" owner to :"temporal";
-- Nobody else connects: not even to make a temporary table.
select format('revoke all on database %I from public', name)
  from unnest(array[:'database', :'temporal_database', :'visibility_database']) as name \gexec
grant connect on database :"database" to :"runtime";
\if :{?api_password}
grant connect on database :"database" to :"api", :"worker";
\endif

-- Databases from before these roles have tables of another owner.
\connect :database
\set new_owner :owner
\ir take-over.sql
\connect :temporal_database
\set new_owner :temporal
\ir take-over.sql
\connect :visibility_database
\ir take-over.sql
