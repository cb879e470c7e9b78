import type { Handle } from '../database/database.js';

/** Whether an endpoint exists and is enabled. */
export async function isEndpointActive(db: Handle, endpointId: string): Promise<boolean> {
  return (await db.prisma.endpoint.count({ where: { id: endpointId, enabled: true, deletedAt: null } })) > 0;
}
