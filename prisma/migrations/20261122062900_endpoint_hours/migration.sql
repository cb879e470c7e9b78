-- CreateTable
CREATE TABLE "endpoint_hours" (
    "endpoint_id" UUID NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "succeeded" INTEGER NOT NULL,
    "failed" INTEGER NOT NULL,
    "answer_times" INTEGER[],
    "last_success_at" TIMESTAMPTZ(3),
    "last_failure_at" TIMESTAMPTZ(3),
    "last_error" TEXT,
    "last_response_status" INTEGER,

    CONSTRAINT "endpoint_hours_pkey" PRIMARY KEY ("endpoint_id","hour")
);

-- CreateIndex
CREATE INDEX "endpoint_hours_hour_idx" ON "endpoint_hours"("hour");
