import { TestWorkflowEnvironment } from '@temporalio/testing';
import './quiet-temporal.js';
import { addSearchAttributes } from '../../src/temporal/namespace.js';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import type { TestDatabase } from './database.js';

/** Starts a Temporal for one test. It skips time while the test waits for the end of a workflow or sleeps on it. */
export async function startTimeSkipping(): Promise<TestWorkflowEnvironment> {
  const env = await startServer();
  await addSearchAttributes(env.connection, 'default', SEARCH_ATTRIBUTES);
  return env;
}

/**
 * Repeats the start until the limit of the hook that waits for it: the SDK waits 5 s for the server, and Java alone
 * takes longer on a busy machine.
 */
async function startServer(): Promise<TestWorkflowEnvironment> {
  const path = process.env.TEST_SERVER_PATH;
  try {
    return await TestWorkflowEnvironment.createTimeSkipping(
      path ? { server: { executable: { type: 'existing-path', path } } } : {},
    );
  } catch (error) {
    if (!/did not start within/.test(String(error))) throw error;
    return startServer();
  }
}

/**
 * Keeps Postgres's time in step with Temporal's. Postgres's clock cannot be moved, so the times in the tables are moved
 * back instead, which has the same effect on a comparison with now().
 * @returns a function to call before each read or write of a time
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
  events: ['created_at'],
  outbox: ['lease_until'],
  deliveries: ['created_at', 'next_attempt_at', 'finished_at'],
  queue: ['due_at', 'lease_until'],
  attempts: ['started_at'],
};
