import type { AppMiddleware } from '../http/context.js';
import { routeOf } from '../http/middleware.js';
import { problemResponse, refusalOf } from '../http/response.js';
import { withDeadline } from '../platform/deadline.js';
import { PROBLEMS, Refusal } from '../platform/refusal.js';
import type { Services } from './guard.js';
import { isConsolePath } from './guard.js';
import { CONSOLE_HEADERS, show } from './layout.js';
import { PageError } from './page.js';

/** An error as a page shows it, without details of a fault. */
export function shownError(error: unknown) {
  if (error instanceof PageError) {
    return { status: error.status, title: error.title, detail: error.message, headers: {} };
  }
  const refusal = refusalOf(error);
  const { status, title } = PROBLEMS[refusal.code];
  const { headers } = problemResponse(refusal, { baseUrl: '', path: '', requestId: '' });
  const { 'Content-Type': _type, 'WWW-Authenticate': _challenge, ...kept } = headers;
  // The API's message names a header, which no person sends.
  const detail =
    refusal.code === 'unavailable' ? 'The service cannot do this at the moment. Try again.' : refusal.message;
  return { status, title, detail, headers: kept };
}

/** Time after which a page offers to try again, ms. It is longer than a read of a page (`READ_LIMIT`). */
const PAGE_DEADLINE = 4_500;

/**
 * Sets the headers of every response under `/console`, shows errors as pages, and logs faults with the request's id as
 * the API does.
 */
export function errorPages(services: Services): AppMiddleware {
  return async (ctx, next) => {
    if (!isConsolePath(ctx.path)) return next();
    ctx.set(CONSOLE_HEADERS);
    try {
      await (ctx.method === 'GET' ? withDeadline(PAGE_DEADLINE, next) : next());
    } catch (thrown) {
      const { requestId } = ctx.state;
      if (!(thrown instanceof Refusal || thrown instanceof PageError)) {
        const { code } = refusalOf(thrown);
        services.log[PROBLEMS[code].status === 503 ? 'warn' : 'error']({ err: thrown, request_id: requestId }, code);
      }
      const own = shownError(thrown);
      const error = own.status === 404 && routeOf(ctx) === undefined ? NO_PAGE : own;
      ctx.set({ ...error.headers });
      const content = (
        <section class="stack narrow">
          <p class="muted">{error.status}</p>
          <h1>{error.title}</h1>
          <p>{error.detail}</p>
          <p class="hint">
            Request <code>{requestId}</code>
          </p>
          {ctx.method === 'GET' && error.status === 503 && (
            <p>
              <a class="button" href={`${ctx.path}${ctx.search}`}>
                Try again
              </a>
            </p>
          )}
          <p>
            <a href="/console">Go to the overview</a>
          </p>
        </section>
      );
      show(ctx, services, { title: error.title, content, status: error.status });
    }
  };
}

const NO_PAGE = shownError(new PageError(404, 'Not found', 'The console has no such page.'));
