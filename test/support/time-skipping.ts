import { TestWorkflowEnvironment } from '@temporalio/testing';
import './quiet-temporal.js';
import { addSearchAttributes } from '../../src/temporal/namespace.js';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import type { TestDatabase } from './database.js';

/** A Temporal of this test's own whose time is skipped while somebody waits for a workflow's end, or sleeps on it. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  const env = await startServer(12);
  await addSearchAttributes(env.connection, 'default', SEARCH_ATTRIBUTES);
  return env;
}

/** The SDK gives the server 5 s to answer, which Java may need for its start alone on a busy machine. */
async function startServer(tries: number): Promise<TestWorkflowEnvironment> {
  const path = process.env.TEST_SERVER_PATH;
  try {
    return await TestWorkflowEnvironment.createTimeSkipping(
      path ? { server: { executable: { type: 'existing-path', path } } } : {},
    );
  } catch (error) {
    if (tries === 1 || !/did not start within/.test(String(error))) throw error;
    return startServer(tries - 1);
  }
}

/**
 * Keeps Postgres's time with Temporal's. Its clock cannot be moved: what is in the tables is moved back instead, which is
 * the same to whoever compares with now().
 * @returns to be called before whatever reads or writes a time
 */
export function followTime(env: TestWorkflowEnvironment, db: TestDatabase): () => Promise<void> {
  let followed = 0;
  let queue = Promise.resolve();
  const follow = async () => {
    const skipped = (await env.currentTimeMs()) - Date.now();
    if (skipped - followed < 1_000) return;
    for (const [table, columns] of Object.entries(TIMES)) {
      const moved = columns.map((column) => `${column} = ${column} - $1::bigint * interval '1 millisecond'`);
      await db.query(`update ${table} set ${moved.join(', ')}`, [Math.round(skipped - followed)]);
    }
    followed = skipped;
  };
  return () => {
    queue = queue.then(follow);
    return queue;
  };
}

const TIMES = {
  webhook_endpoints: ['created_at', 'enabled_at'],
  events: ['created_at', 'lease_until'],
  deliveries: ['created_at', 'next_attempt_at', 'attempting_until', 'finished_at'],
  attempts: ['started_at'],
};
