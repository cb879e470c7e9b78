-- CreateTable
CREATE TABLE "console_sessions" (
    "id" UUID NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "client_id" UUID NOT NULL,
    "secret_id" UUID,
    "role" TEXT NOT NULL,
    "scopes" TEXT[],
    "signed_in_by" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "notice" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "console_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "console_codes" (
    "id" UUID NOT NULL,
    "code_hash" BYTEA NOT NULL,
    "client_id" UUID NOT NULL,
    "secret_id" UUID,
    "role" TEXT NOT NULL,
    "scopes" TEXT[],
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "console_codes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "console_sessions_token_hash_key" ON "console_sessions"("token_hash");

-- CreateIndex
CREATE INDEX "console_sessions_client_id_last_seen_at_idx" ON "console_sessions"("client_id", "last_seen_at");

-- CreateIndex
CREATE INDEX "console_sessions_last_seen_at_idx" ON "console_sessions"("last_seen_at");

-- CreateIndex
CREATE UNIQUE INDEX "console_codes_code_hash_key" ON "console_codes"("code_hash");

-- CreateIndex
CREATE INDEX "console_codes_client_id_expires_at_idx" ON "console_codes"("client_id", "expires_at");

-- CreateIndex
CREATE INDEX "console_codes_expires_at_idx" ON "console_codes"("expires_at");
