import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

// The load generator, in a process of its own: one change of status for each transfer, over kept connections.

export interface Load {
  baseUrl: string;
  token: string;
  transferIds: string[];
  connections: number;
  /** Changes a second; 0: as fast as they are answered. */
  rate: number;
}

export interface LoadResult {
  /** Transfer id and when its answer came, ms since 1970 with fractions. */
  answers: [string, number][];
  /** How many answers were not 200, by status. */
  refused: Record<string, number>;
  startedAt: number;
  endedAt: number;
}

const now = () => performance.timeOrigin + performance.now();

async function run({ baseUrl, token, transferIds, connections, rate }: Load): Promise<LoadResult> {
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  const answers: [string, number][] = [];
  const refused: Record<string, number> = {};
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const startedAt = now();
  let next = 0;
  const one = async (): Promise<void> => {
    for (let index = next++; index < transferIds.length; index = next++) {
      if (rate > 0) await sleep(startedAt + (index * 1_000) / rate - now());
      const id = transferIds[index] ?? '';
      const path = `/operator/transfers/${id}/status`;
      const response = await pool.request({ method: 'POST', path, headers, body: '{"status":"PROCESSING"}' });
      await response.body.dump();
      if (response.statusCode === 200) answers.push([id, now()]);
      else refused[response.statusCode] = (refused[response.statusCode] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  const endedAt = now();
  await pool.close();
  return { answers, refused, startedAt, endedAt };
}

process.on('message', async (load: Load) => process.send?.(await run(load)));
process.on('disconnect', () => process.exit());
