-- CreateTable
CREATE TABLE "limit_counts" (
    "name" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "points" INTEGER NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "limit_counts_pkey" PRIMARY KEY ("name","key")
);

-- CreateIndex
CREATE INDEX "limit_counts_ends_at_idx" ON "limit_counts"("ends_at");
