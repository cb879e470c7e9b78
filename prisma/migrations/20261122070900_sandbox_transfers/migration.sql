-- CreateTable
CREATE TABLE "sandbox_transfers" (
    "transfer_id" UUID NOT NULL,
    "client_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "steps_made" INTEGER NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3),
    "start_after" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "sandbox_transfers_pkey" PRIMARY KEY ("transfer_id")
);

-- CreateIndex
CREATE INDEX "sandbox_transfers_client_id_created_at_idx" ON "sandbox_transfers"("client_id", "created_at");

-- CreateIndex
CREATE INDEX "sandbox_transfers_client_id_idx" ON "sandbox_transfers"("client_id") WHERE (ended_at is null);

-- CreateIndex
CREATE INDEX "sandbox_transfers_start_after_idx" ON "sandbox_transfers"("start_after") WHERE (ended_at is null);

-- CreateIndex
CREATE INDEX "sandbox_transfers_ended_at_idx" ON "sandbox_transfers"("ended_at");

-- AddForeignKey
ALTER TABLE "sandbox_transfers" ADD CONSTRAINT "sandbox_transfers_transfer_id_fkey" FOREIGN KEY ("transfer_id") REFERENCES "transfers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
