-- Retention deletes the oldest rows, and reads of the oldest row pass over the dead index entries until a vacuum: 770
-- pages for 200,000 of them. By default, a vacuum comes only when a fifth of the table is dead. These settings take a
-- lock that blocks neither reads nor writes, and the release before works with them.
ALTER TABLE "events" SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE "deliveries" SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE "attempts" SET (autovacuum_vacuum_scale_factor = 0.05);
