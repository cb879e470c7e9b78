import { mkdirSync } from 'node:fs';

/** A Postgres with Temporal's schema, and a program `temporal` that runs Temporal's server on it. */
interface Store {
  /** The program's folder. */
  bin: string;
  url: string;
  pid: number;
  stop(): Promise<void>;
}

interface Scripts {
  startTemporalOnPostgres(plan: StorePlan): Promise<Store>;
}

interface StorePlan {
  folder: string;
  cacheDir: string;
  progress(line: string): void;
}

/** From dist/bench. */
const SCRIPT = new URL('../../scripts/temporal-on-postgres/start.mjs', import.meta.url).href;

/** Makes the store of production's Temporal in `folder`. @throws Error in one line if Go cannot build the server */
export async function startStore(plan: StorePlan): Promise<Store> {
  const { startTemporalOnPostgres }: Scripts = await import(SCRIPT);
  mkdirSync(plan.folder);
  return startTemporalOnPostgres(plan).catch((error: Error) => {
    throw new Error(`Temporal on Postgres: ${error.message}; without Go, give --temporal dev`, { cause: error });
  });
}
