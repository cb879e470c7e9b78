import { TestWorkflowEnvironment } from '@temporalio/testing';
import './quiet-temporal.js';
import { addSearchAttributes } from '../../src/temporal/namespace.js';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';

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
