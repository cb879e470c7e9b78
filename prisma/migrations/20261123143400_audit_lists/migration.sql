-- `audit list --actor` and `--action` read an index: clients write most entries now.
CREATE INDEX "audit_entries_actor_id_idx" ON "audit_entries"("actor", "id" DESC);
CREATE INDEX "audit_entries_action_id_idx" ON "audit_entries"("action" text_pattern_ops, "id" DESC);
