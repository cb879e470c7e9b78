import { bySession, recordBySession } from '../auth/console-access.js';
import type { ConsoleSession } from '../auth/console-sessions.js';
import type { Database, Handle } from '../database/database.js';
import { timeLimited } from '../database/time-limited.js';
import { isTwoStep, readParams } from '../http/dispatch.js';
import { limitParameters } from '../http/limits.js';
import { respondUnkeyed } from '../http/respond-in-steps.js';
import { type WrittenResponse, writeResponse } from '../http/response.js';
import { type Route, scopesOf } from '../http/route.js';
import { Refusal } from '../refusal.js';

/** The API's operations, run in this process for a session: the same checks, limits, scopes and presenters. */
export interface Operations {
  /**
   * Runs a GET operation.
   * @returns the JSON that the API responds with
   * @throws Refusal, as the API
   */
  read<T>(operationId: string, request?: ReadRequest): Promise<T>;
  /**
   * Runs an operation that changes something. An audit entry of the session is in its transaction: the operation's own,
   * or one that is written here.
   * @returns the JSON that the API responds with; undefined for an empty response
   * @throws Refusal, as the API
   */
  change<T>(operationId: string, request?: ChangeRequest): Promise<T>;
}

export interface ReadRequest {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string>>;
  /** The operation has limits of its own, and waits for its turn without a transaction. */
  limitsItself?: true;
}

export interface ChangeRequest {
  params?: Readonly<Record<string, string>>;
  body?: unknown;
  /** Runs first in the operation's transaction, and may refuse the change. No operation that asks Temporal has one. */
  before?: (tx: Handle) => Promise<void>;
}

/** Time limit of a statement of a page, ms. */
const READ_LIMIT = 5_000;

/** Reads for a page. */
export const readLimited = <T>(db: Handle, read: (tx: Handle) => Promise<T>): Promise<T> =>
  timeLimited(db, READ_LIMIT, read);

/**
 * @param routes every operation of the API, the same objects that the API runs
 * @param database of the session's client (`forClient`)
 */
export function operationsOf(routes: readonly Route[], database: Database, session: ConsoleSession): Operations {
  const byId = new Map(routes.map((route) => [route.operationId, route]));
  const caller = {
    clientId: session.clientId,
    secretId: session.secretId,
    scopes: session.scopes,
    by: bySession(session),
  };

  const prepare = (operationId: string, { params = {}, query = {}, body }: ReadRequest & ChangeRequest) => {
    const route = byId.get(operationId);
    if (!route) throw new Refusal('not_found', 'This environment has no such operation.');
    if (!scopesOf(route).some((scope) => session.scopes.has(scope))) throw lacksScope(scopesOf(route));
    const search = new URLSearchParams(query);
    limitParameters(search.toString());
    const ids = readParams({ ...params });
    const path = route.path.replace(/{(\w+)}/g, (_, name: string) => ids[name] ?? '');
    const bytes = Buffer.from(body === undefined ? '' : JSON.stringify(body));
    return { route, ids, accept: () => route.accept({ caller, params: ids, path, search, bytes }) };
  };

  return {
    async read<T>(operationId: string, request: ReadRequest = {}) {
      const { route, accept } = prepare(operationId, request);
      if (route.method !== 'GET') throw new Error(`${operationId} changes something`);
      const work = accept();
      if (isTwoStep(work)) throw new Error(`${operationId} asks Temporal`);
      const response = request.limitsItself ? work(database) : readLimited(database, work);
      return parsed(writeResponse(await response)) as T;
    },

    async change<T>(operationId: string, request: ChangeRequest = {}) {
      const { route, ids, accept } = prepare(operationId, request);
      if (route.method === 'GET') throw new Error(`${operationId} changes nothing`);
      const work = accept();
      if (isTwoStep(work)) {
        if (request.before) throw new Error(`${operationId} has no transaction`);
        return parsed(await respondUnkeyed(database, work)) as T;
      }
      return database.transaction(async (tx) => {
        await request.before?.(tx);
        const response = writeResponse(await work(tx));
        const body = parsed(response);
        if (!route.isAudited) {
          await recordBySession(tx, session, `console.${kebab(operationId)}`, targetOf(ids, body), ids);
        }
        return body as T;
      });
    },
  };
}

export function lacksScope(scopes: readonly string[]): Refusal {
  return new Refusal('insufficient_scope', `Your session lacks the scope ${scopes.join(' or ')}.`);
}

const parsed = ({ text }: WrittenResponse): unknown => (text === '' ? undefined : JSON.parse(text));

/** `createTransfer` → `create-transfer` */
const kebab = (operationId: string) => operationId.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The id of what was changed, from the path or, for something new, from the response. */
function targetOf(ids: Readonly<Record<string, string>>, body: unknown): string | null {
  const made = (body ?? {}) as { id?: unknown };
  const id = ids.id ?? ids.webhookId ?? made.id;
  return typeof id === 'string' ? id : null;
}
