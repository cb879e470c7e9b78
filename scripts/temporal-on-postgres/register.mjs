// Creates a namespace as soon as the server responds. The service's own `migrate` adds the rest.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

const [address, namespace] = process.argv.slice(2);
const ALREADY_EXISTS = 6;
const connection = Connection.lazy({ address });
const day = { seconds: { low: 86_400, high: 0, unsigned: false } };
for (let patience = 0; patience < 600; patience++) {
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day }),
    );
    break;
  } catch (error) {
    if (error.code === ALREADY_EXISTS) break;
    await sleep(100);
  }
}
await connection.close();
