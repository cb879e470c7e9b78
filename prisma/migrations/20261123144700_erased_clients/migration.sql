-- The time at which `clients erase` had erased names and accounts.
ALTER TABLE "clients" ADD COLUMN "erased_at" TIMESTAMPTZ(3);
