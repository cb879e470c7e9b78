-- AlterTable
ALTER TABLE "webhook_endpoints" ADD COLUMN     "cancelling_after" UUID;

-- CreateIndex
CREATE INDEX "webhook_endpoints_cancelling_idx" ON "webhook_endpoints"("id") WHERE (cancelling_after is not null);
