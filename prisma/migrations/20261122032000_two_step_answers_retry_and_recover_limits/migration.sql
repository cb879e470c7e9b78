-- AlterTable
ALTER TABLE "idempotency_keys" ADD COLUMN     "holder" UUID,
ADD COLUMN     "lease_until" TIMESTAMPTZ(3),
ADD COLUMN     "plan" JSONB;

-- CreateTable
CREATE TABLE "manual_retries" (
    "delivery_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "manual_retries_pkey" PRIMARY KEY ("delivery_id","id")
);

-- CreateTable
CREATE TABLE "recovers" (
    "id" UUID NOT NULL,
    "client_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "count" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "starting_until" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "recovers_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "manual_retries_at_idx" ON "manual_retries"("at");

-- CreateIndex
CREATE INDEX "recovers_client_id_idx" ON "recovers"("client_id") WHERE (ended_at is null);

-- CreateIndex
CREATE INDEX "recovers_endpoint_id_at_idx" ON "recovers"("endpoint_id", "at");

-- CreateIndex
CREATE INDEX "recovers_at_idx" ON "recovers"("at");
