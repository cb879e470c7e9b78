-- Whether a recovery also restarts sleeping deliveries, and their number.
alter table recoveries
  add column include_pending boolean not null default false,
  add column pending integer not null default 0;
