import { isForm } from '../../src/console/page.js';
import { declared } from '../../src/console/pages/index.js';
import { newId } from '../../src/platform/ids.js';
import { fillPath, type PathIds } from '../lists/paths.js';
import { fillPast } from '../past.js';
import { insertEndpoints } from '../tenants.js';
import type { Asked, Target } from './requests.js';
import { type AbuseSite, makeTenant, type Tenant } from './site.js';

/** Events of one endpoint of another client. They dominate Postgres's statistics. */
const ROWS_OF_ANOTHER = 1_500_000;
const OWN_ROWS = 300;
/** The maximum for a client. */
const ENDPOINTS = 20;

/** Every page of the console, in the session of a client with few rows beside one with nearly all. */
export async function everyPage(site: AbuseSite, url: string): Promise<{ target: Target; asked: Asked[] }> {
  const { stack, service } = site;
  const [attacker, other] = [await makeTenant(site, url), await makeTenant(site, url)];
  const more = Array.from({ length: ENDPOINTS - 1 }, () => ({ id: newId(), clientId: attacker.id, url }));
  await insertEndpoints(stack, more);
  await fill(site, attacker, OWN_ROWS);
  await fill(site, other, ROWS_OF_ANOTHER);
  await stack.database.query('analyze');
  const [ids] = (
    await stack.database.query<PathIds>(
      `select endpoint_id as endpoint, event_id as event, d.id as delivery, transfer_id as transfer, d.id as check
         from deliveries d join events e on e.id = d.event_id where d.client_id = $1 limit 1`,
      [attacker.id],
    )
  ).rows;
  if (!ids) throw new Error('the attacker has no delivery');
  const asked = declared.flatMap((page): Asked[] =>
    isForm(page) ? [] : [{ method: 'GET', path: fillPath(page.path, ids) }],
  );
  const cookie = await signIn(service.baseUrl, attacker);
  return { target: { baseUrl: service.baseUrl, token: attacker.token, cookie, keepAlive: true }, asked };
}

const fill = ({ stack }: AbuseSite, { id, endpointId }: Tenant, rows: number) =>
  fillPast(stack, { clients: [{ id, endpoints: [endpointId] }], endpointsEach: 1 }, rows, () => undefined);

/** Signs in by a link, and returns the `Cookie` header of the session. */
async function signIn(baseUrl: string, { token }: Tenant): Promise<string> {
  const made = await fetch(`${baseUrl}/console-sessions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ role: 'editor' }),
  });
  const { pathname, hash } = new URL(((await made.json()) as { url: string }).url);
  const signedIn = await fetch(`${baseUrl}${pathname}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: baseUrl },
    body: new URLSearchParams({ code: hash.slice(1) }),
  });
  const [cookie = ''] = signedIn.headers.getSetCookie()[0]?.split(';') ?? [];
  if (signedIn.status !== 303 || cookie === '') throw new Error(`the sign-in got ${signedIn.status}`);
  return cookie;
}
