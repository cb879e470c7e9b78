-- AlterTable
-- The default of an existing endpoint is the time of this migration: its earlier periods are unknown.
ALTER TABLE "webhook_endpoints" ADD COLUMN     "periods_known_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;

-- CreateTable
CREATE TABLE "endpoint_disabled_periods" (
    "id" BIGSERIAL NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "reason" TEXT NOT NULL,

    CONSTRAINT "endpoint_disabled_periods_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "endpoint_disabled_periods_endpoint_id_started_at_id_idx" ON "endpoint_disabled_periods"("endpoint_id", "started_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "endpoint_disabled_periods_ended_at_idx" ON "endpoint_disabled_periods"("ended_at");

-- AddForeignKey
ALTER TABLE "endpoint_disabled_periods" ADD CONSTRAINT "endpoint_disabled_periods_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A trigger keeps the periods, so that every change of an endpoint writes them in its own statement, also a change by a
-- process of the release before. The row lock of the change puts the periods of an endpoint in order.
CREATE FUNCTION "keep_disabled_periods"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  -- Not now(): a transaction may have waited for the row since its start.
  changed_at timestamptz(3) := CASE TG_OP WHEN 'INSERT' THEN NEW.created_at ELSE clock_timestamp() END;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    UPDATE "endpoint_disabled_periods" SET ended_at = greatest(changed_at, started_at)
     WHERE endpoint_id = NEW.id AND ended_at IS NULL;
  END IF;
  IF NOT NEW.enabled AND NEW.deleted_at IS NULL THEN
    INSERT INTO "endpoint_disabled_periods" (endpoint_id, started_at, reason)
    VALUES (NEW.id, changed_at, coalesce(NEW.disabled_reason, 'owner'));
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "disabled_periods_of_new_endpoint" AFTER INSERT ON "webhook_endpoints"
FOR EACH ROW WHEN (NOT NEW.enabled) EXECUTE FUNCTION "keep_disabled_periods"();

CREATE TRIGGER "disabled_periods_of_changed_endpoint" AFTER UPDATE OF enabled, disabled_reason, deleted_at ON "webhook_endpoints"
FOR EACH ROW WHEN (
  (OLD.enabled, OLD.disabled_reason, OLD.deleted_at) IS DISTINCT FROM (NEW.enabled, NEW.disabled_reason, NEW.deleted_at)
) EXECUTE FUNCTION "keep_disabled_periods"();

-- An endpoint that is disabled now has been disabled since at least now.
INSERT INTO "endpoint_disabled_periods" (endpoint_id, started_at, reason)
SELECT id, CURRENT_TIMESTAMP, coalesce(disabled_reason, 'owner') FROM "webhook_endpoints"
 WHERE NOT enabled AND deleted_at IS NULL;
