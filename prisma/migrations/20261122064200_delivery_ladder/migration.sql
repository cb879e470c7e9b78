-- AlterTable
ALTER TABLE "deliveries" ADD COLUMN     "ladder" TEXT;
