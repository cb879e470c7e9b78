import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import pLimit from 'p-limit';
import { newId } from '../../src/ids.js';
import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { countClosed, untilClosed } from '../workflows.js';
import type { Took } from './loop.js';

// The floor under a workflow: an empty one, started eagerly on the worker's own connection, as the service starts its
// own.

export interface WorkflowsPlan {
  address: string;
  namespace: string;
  count: number;
}

/** As src/workflow-starts/workflow-starter.ts and src/temporal/worker.ts have it. */
const STARTS_AT_ONCE = 16;
const CACHED = 300;
const TASK_QUEUE = 'bench-bare';

let opened: Promise<Client> | undefined;

async function open({ address, namespace }: WorkflowsPlan): Promise<Client> {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  const workflowsPath = fileURLToPath(new URL('./bare-workflow.js', import.meta.url));
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }),
    maxCachedWorkflows: CACHED,
    workflowTaskPollerBehavior: { type: 'autoscaling' },
  });
  // Ends with this process.
  worker.run().catch((error: unknown) => console.error(error));
  return new Client({ connection, namespace });
}

async function run(plan: WorkflowsPlan): Promise<Took> {
  opened ??= open(plan);
  const client = await opened;
  const before = await countClosed(client, 'bare');
  const limit = pLimit(STARTS_AT_ONCE);
  const start = () =>
    client.workflow.start('bare', { workflowId: newId(), taskQueue: TASK_QUEUE, requestEagerStart: true });
  const startedAt = now();
  await Promise.all(Array.from({ length: plan.count }, () => limit(start)));
  await untilClosed(client, 'bare', before + plan.count);
  return { startedAt, endedAt: now() };
}

answerQuestions(run);
