import { SpanKind } from '@opentelemetry/api';
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { stateOf, TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ClientId, DeliveryState, EventType, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import { inSpan } from '../telemetry/traces.js';
import type { WorkflowStart } from './read-starts.js';

export interface StartOptions {
  /** Runs the first task at once on the worker in this process (needs the worker's own connection). */
  eager: boolean;
  /**
   * `start-once`: a workflow that has ever started is not started again. `restart`: a workflow that has ended is
   * started again, because a delivery is still pending. `replace`: a running workflow is terminated first, because its
   * state is out of date.
   */
  reuse: 'start-once' | 'restart' | 'replace';
}

/** Starts a `deliverEvent` workflow. @returns false when the workflow had already started */
export function startDeliverEvent(client: Client, start: WorkflowStart, options: StartOptions): Promise<boolean> {
  const attributes = { temporalWorkflowID: start.workflowId };
  const { traceparent } = start.event;
  return inSpan('StartWorkflow:deliverEvent', { kind: SpanKind.CLIENT, attributes, traceparent }, () =>
    startOnce(client, start, options),
  );
}

async function startOnce(client: Client, start: WorkflowStart, options: StartOptions): Promise<boolean> {
  try {
    await client.workflow.start('deliverEvent', {
      ...deliverEventOptions(start),
      workflowIdReusePolicy: options.reuse === 'start-once' ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
      ...(options.reuse === 'replace' && { workflowIdConflictPolicy: 'TERMINATE_EXISTING' as const }),
      requestEagerStart: options.eager,
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}

/**
 * The options of every start of `deliverEvent`, also by signalWithStart: ids, summary and search attributes for
 * operators.
 */
export function deliverEventOptions({ workflowId, event, input }: WorkflowStart) {
  const { length } = input.deliveries;
  return {
    workflowId,
    taskQueue: TASK_QUEUE,
    args: [input],
    priority: { fairnessKey: input.clientId },
    staticSummary: `${input.title} → ${length === 1 ? '1 endpoint' : `${length} endpoints`}`,
    typedSearchAttributes: [
      { key: ClientId, value: input.clientId },
      { key: TransferId, value: event.transferId },
      { key: EventType, value: event.type },
      { key: WebhookIds, value: input.deliveries.map((delivery) => delivery.webhookId) },
      { key: DeliveryState, value: stateOf(input.deliveries) },
    ],
  };
}
