-- CreateTable
CREATE TABLE "receiver_checks" (
    "id" UUID NOT NULL,
    "client_id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'running',
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "starting_until" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "receiver_checks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "receiver_check_cases" (
    "check_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "response_status" INTEGER,
    "error" TEXT,
    "passed" BOOLEAN NOT NULL,
    "hint" TEXT,
    "request_headers" JSONB,
    "request_body" TEXT,

    CONSTRAINT "receiver_check_cases_pkey" PRIMARY KEY ("check_id","position")
);

-- CreateIndex
CREATE INDEX "receiver_checks_running_idx" ON "receiver_checks"("endpoint_id") WHERE (finished_at is null);

-- CreateIndex
CREATE INDEX "receiver_checks_endpoint_id_started_at_idx" ON "receiver_checks"("endpoint_id", "started_at");

-- CreateIndex
CREATE INDEX "receiver_checks_started_at_idx" ON "receiver_checks"("started_at");

-- AddForeignKey
ALTER TABLE "receiver_check_cases" ADD CONSTRAINT "receiver_check_cases_check_id_fkey" FOREIGN KEY ("check_id") REFERENCES "receiver_checks"("id") ON DELETE CASCADE ON UPDATE CASCADE;
