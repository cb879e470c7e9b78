-- CreateIndex
CREATE INDEX "sandbox_transfers_client_id_start_after_idx" ON "sandbox_transfers"("client_id", "start_after") WHERE (ended_at is null);

-- DropIndex
DROP INDEX "sandbox_transfers_client_id_idx";
