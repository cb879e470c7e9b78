import { bySession, type ConsoleSession } from '../auth/console-sessions.js';
import { readParams } from '../http/dispatch.js';
import { matches } from '../http/etag.js';
import type { HttpResponse } from '../http/response.js';
import type { Route } from '../http/route.js';
import { recordAudit } from '../platform/audit.js';
import { type Database, type Handle, timeLimited } from '../platform/database/database.js';
import { Refusal } from '../platform/refusal.js';

interface OperationRequest {
  params?: Readonly<Record<string, string>>;
  /** A parameter that is undefined is left out, as JSON leaves out such a field of the body. */
  query?: Readonly<Record<string, string | undefined>>;
  body?: unknown;
  /** Of a read: the operation has limits of its own, and waits for its turn without a transaction. */
  limitsItself?: true;
  /** Of a change: the ETag of the state that the form shows; any other state is not changed. */
  ifMatch?: string | undefined;
  /** Of a change: runs first in the operation's transaction, and may refuse the change. */
  before?: (tx: Handle) => Promise<void>;
}

/** Time limit of a statement of a page, ms. */
const READ_LIMIT = 4_000;

/** Reads for a page. */
export const readLimited = <T>(db: Handle, read: (tx: Handle) => Promise<T>): Promise<T> =>
  timeLimited(db, READ_LIMIT, read);

/** The API's operations, run in this process for a session: the same checks, limits, scopes and presenters. */
export type Operations = ReturnType<typeof operationsOf>;

/**
 * @param routes every operation of the API, the same objects that the API runs
 * @param database of the session's client (`forClient`)
 */
export function operationsOf(routes: readonly Route[], database: Database, session: ConsoleSession) {
  const byId = new Map(routes.map((route) => [route.operationId, route]));
  const { clientId, secretId, scopes } = session;
  const caller = { clientId, secretId, scopes, by: bySession(session) };

  const prepare = (operationId: string, { params = {}, query = {}, body }: OperationRequest) => {
    const route = byId.get(operationId);
    if (!route) throw new Refusal('not_found', 'This environment has no such operation.');
    if (!route.scopes.some((scope) => scopes.has(scope))) throw lacksScope(route.scopes);
    const ids = readParams({ ...params });
    const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
    const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    const search = new URLSearchParams(given);
    // The URL is for headers, which no page has.
    return { route, ids, accept: () => route.accept({ caller, params: ids, url: route.path, search, bytes }) };
  };

  return {
    /**
     * Runs a GET operation.
     * @returns the JSON that the API responds with
     * @throws Refusal, as the API
     */
    async read<T>(operationId: string, request: OperationRequest = {}): Promise<T> {
      const { route, accept } = prepare(operationId, request);
      if (route.method !== 'GET') throw new Error(`${operationId} changes something`);
      const work = accept();
      const response = request.limitsItself ? work(database) : readLimited(database, work);
      return parsed(await response) as T;
    },

    /**
     * Runs an operation that changes something. An audit entry of the session is in its transaction: the operation's
     * own, or one that is written here.
     * @returns the JSON that the API responds with; undefined for an empty response
     * @throws Refusal, as the API
     */
    async change<T>(operationId: string, request: OperationRequest = {}): Promise<T> {
      const { route, ids, accept } = prepare(operationId, request);
      if (route.method === 'GET') throw new Error(`${operationId} changes nothing`);
      if (session.role !== 'editor') throw new Refusal('insufficient_scope', 'Your session changes nothing.');
      const work = accept();
      const { around = (change) => change() } = route;
      const run = async (tx: Handle) => {
        await request.before?.(tx);
        if (request.ifMatch !== undefined) {
          const etag = await route.version?.({ caller, params: ids, db: tx });
          if (!matches(request.ifMatch, etag ?? '')) throw new Refusal('changed_meanwhile', CHANGED);
        }
        const body = parsed(await work(tx));
        if (!route.isAudited) {
          const action = `console.${kebab(operationId)}` as const;
          await recordAudit(tx, { ...bySession(session), action, target: targetOf(ids, body), details: ids });
        }
        return body as T;
      };
      return around(() => database.transaction(run));
    },
  };
}

const CHANGED =
  'Someone changed this after your page was opened. Nothing is saved. Check what it is now, then send the form again.';

export function lacksScope(scopes: readonly string[]): Refusal {
  return new Refusal('insufficient_scope', `Your session lacks the scope ${scopes.join(' or ')}.`);
}

function parsed({ text }: HttpResponse): unknown {
  return text === '' ? undefined : JSON.parse(text);
}

/** `createTransfer` → `create-transfer` */
const kebab = (operationId: string) => operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The id of what was changed, from the path or, for something new, from the response. */
function targetOf(ids: Readonly<Record<string, string>>, body: unknown): string | null {
  const made = (body ?? {}) as { id?: unknown };
  const id = ids.id ?? ids.webhookId ?? made.id;
  return typeof id === 'string' ? id : null;
}
