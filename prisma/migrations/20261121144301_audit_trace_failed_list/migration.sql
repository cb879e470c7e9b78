-- AlterTable
ALTER TABLE "events" ADD COLUMN     "traceparent" TEXT;

-- CreateTable
CREATE TABLE "audit_entries" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "details" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "audit_entries_target_id_idx" ON "audit_entries"("target", "id" DESC);

-- CreateIndex
CREATE INDEX "deliveries_status_id_idx" ON "deliveries"("status", "id" DESC) WHERE (status in ('failed'::delivery_status, 'cancelled'::delivery_status));
