import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import pLimit from 'p-limit';
import { CONCURRENCY, workflowOf } from '../../src/delivery/workflow-starter.js';
import { newId } from '../../src/platform/ids.js';
import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { countClosed, untilClosed } from '../workflows.js';
import type { Took } from './loop.js';

// The floor under a workflow: an empty one, started eagerly on the worker's own connection, as the service starts its
// own.

/** `bare`: without input and attributes. `shown`: with those of a delivered event's workflow. */
export type WorkflowFloor = 'bare' | 'shown';

export interface WorkflowsPlan {
  kind: WorkflowFloor;
  address: string;
  namespace: string;
  count: number;
}

/** The same size as the cache of the service's worker. */
const CACHED = 300;

const CLIENT = newId();
const WEBHOOK = newId();

let opened: Promise<Client> | undefined;

async function open({ kind, address, namespace }: WorkflowsPlan): Promise<Client> {
  const logger = new DefaultLogger('ERROR');
  Runtime.install({ logger });
  const workflowsPath = fileURLToPath(new URL('./bare-workflow.js', import.meta.url));
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: taskQueueOf(kind),
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
  const { kind } = plan;
  const before = await countClosed(client, kind);
  const limit = pLimit(CONCURRENCY);
  const start = () => {
    const options = kind === 'shown' ? optionsOfDelivered() : { workflowId: newId() };
    return client.workflow.start(kind, { ...options, taskQueue: taskQueueOf(kind), requestEagerStart: true });
  };
  const startedAt = now();
  await Promise.all(Array.from({ length: plan.count }, () => limit(start)));
  await untilClosed(client, kind, before + plan.count);
  return { startedAt, endedAt: now() };
}

const taskQueueOf = (kind: WorkflowFloor) => `bench-${kind}`;

/** As the service starts the workflow of a delivered event with one endpoint. */
function optionsOfDelivered() {
  const [eventId, clientId] = [newId(), CLIENT];
  const type = 'transfer.status_changed';
  const delivery = {
    deliveryId: newId(),
    webhookId: WEBHOOK,
    host: 'receiver.example',
    description: null,
    status: 'succeeded' as const,
    reason: null,
    attemptCount: 1,
    lastOutcome: '204',
    nextAttemptAt: null,
    wait: null,
  };
  return workflowOf({
    isQueued: false,
    event: { eventId, clientId, transferId: newId(), type, body: '', traceparent: null },
    input: { eventId, clientId, title: `${type} SENT`, deliveries: [delivery] },
  });
}

answerQuestions(run);
