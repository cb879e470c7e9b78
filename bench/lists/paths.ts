/** What a client has, for the paths of the API and of the console. */
export interface PathIds {
  endpoint: string;
  event: string;
  delivery: string;
  transfer: string;
  check: string;
  recovery: string;
  client?: string;
}

/** `'/console/events/{id}'` → `'/console/events/019a…'`, and so on for each resource. */
export function fillPath(
  path: string,
  { endpoint, event, delivery, transfer, check, recovery, client = '' }: PathIds,
): string {
  const id = path.includes('/events/') ? event : path.includes('/transfers/') ? transfer : delivery;
  return path
    .replace('{webhookId}', endpoint)
    .replace('checks/{id}', `checks/${check}`)
    .replace('recoveries/{id}', `recoveries/${recovery}`)
    .replace('clients/{id}', `clients/${client}`)
    .replace('{id}', id)
    .replace('{number}', '1');
}
