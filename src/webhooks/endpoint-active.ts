import type { Handle } from '../database/database.js';

/** Whether an endpoint exists and is enabled. */
export async function isEndpointActive(db: Handle, endpointId: string): Promise<boolean> {
  const [row] = await db.query<{ active: boolean }>(
    'select enabled and deleted_at is null as active from webhook_endpoints where id = $1::uuid',
    [endpointId],
  );
  return row?.active ?? false;
}
