-- AlterTable
ALTER TABLE "recovers" ADD COLUMN     "missing" INTEGER NOT NULL DEFAULT 0;
