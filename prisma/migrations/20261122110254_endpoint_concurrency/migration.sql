-- AlterTable
ALTER TABLE "webhook_endpoints" ADD COLUMN     "max_concurrency" INTEGER;

-- CreateTable
CREATE UNLOGGED TABLE "workers" (
    "id" UUID NOT NULL,
    "alive_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "workers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE UNLOGGED TABLE "endpoint_slots" (
    "endpoint_id" UUID NOT NULL,
    "slot" INTEGER NOT NULL,
    "worker_id" UUID NOT NULL,
    "held_until" TIMESTAMPTZ(3) NOT NULL,
    "contested" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "endpoint_slots_pkey" PRIMARY KEY ("endpoint_id","slot")
);

-- CreateIndex
CREATE INDEX "endpoint_slots_worker_id_idx" ON "endpoint_slots"("worker_id");
