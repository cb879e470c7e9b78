-- AlterTable
ALTER TABLE "attempts" ADD COLUMN     "response_headers" JSONB;
