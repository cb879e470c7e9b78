-- AlterTable
ALTER TABLE "transfer_status_history" ADD COLUMN     "reason_code" TEXT;

-- AlterTable
ALTER TABLE "transfers" ADD COLUMN     "reason_code" TEXT;
