import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A history that `npm run histories` recorded, as JSON in the form that Temporal's UI downloads. */
export interface RecordedHistory {
  /** `1.0.0/ladder`: the release and the path. */
  name: string;
  json: { events: { eventType: string }[] };
}

const folder = join(import.meta.dirname, '../histories');

/** The recorded releases. */
export function recordedVersions(): string[] {
  return readdirSync(folder);
}

export function readHistories(): RecordedHistory[] {
  return recordedVersions().flatMap((version) =>
    readdirSync(join(folder, version)).map((file) => ({
      name: `${version}/${file.replace(/\.json$/, '')}`,
      json: JSON.parse(readFileSync(join(folder, version, file), 'utf8')),
    })),
  );
}

/** All texts of a history, with decoded payloads. */
export function textsOf({ json }: RecordedHistory): string {
  const texts: string[] = [];
  const walk = (value: unknown, key?: string) => {
    if (typeof value === 'string') texts.push(key === 'data' ? Buffer.from(value, 'base64').toString() : value);
    else if (value instanceof Object) for (const [name, one] of Object.entries(value)) walk(one, name);
  };
  walk(json);
  return texts.join('\n');
}
