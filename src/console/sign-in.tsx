import Router from '@koa/router';
import {
  type ConsoleGrant,
  type ConsoleRole,
  readLink,
  signOut,
  startSession,
  swapCode,
} from '../auth/console-sessions.js';
import type { AppContext, AppMiddleware, State } from '../http/context.js';
import { isId } from '../platform/ids.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { Secret } from '../platform/secret.js';
import { Facts, Field, Submit } from './components/parts.js';
import { Untrusted } from './components/values.js';
import { isConsolePath, type Services, sessionOf } from './guard.js';
import { redirect, show } from './layout.js';
import { PageError } from './page.js';
import { readForm } from './run.js';

/** The largest body of a sign-in, in bytes: it is read before the client is authenticated. */
const MAX_SIGN_IN_BYTES = 8 * 1024;

/** Sign-in with credentials or by a link, and sign-out. */
export function signInRouter(services: Services): Router<State> {
  const router = new Router<State>({ strict: true, sensitive: true });
  /** Limits the sign-ins of a client that has authenticated, over all processes. */
  const limit = new PostgresLimit('console-sign-ins', LIMITS.signIns);
  /** A live session is not replaced: the person has to sign out first. */
  const signedOut: AppMiddleware = (ctx, next) => {
    if (!sessionOf(ctx)) return next();
    throw new PageError(409, 'You are signed in', 'To use another client, role or link, sign out first.');
  };
  router.get('/console/sign-in', signedOut, (ctx) => {
    const error = `If you have just signed in, your browser blocks the cookies of this site. Allow them for ${services.origin}.`;
    const shown = { next: nextOf(ctx.query.next), ...(ctx.query.cookie === 'missing' && { error }) };
    showSignIn(ctx, services, shown);
  });
  router.post('/console/sign-in', signedOut, (ctx) => signInWithCredentials(ctx, services, limit));
  router.get('/console/sign-in/:link', signedOut, (ctx) => showLink(ctx, services, ctx.params.link));
  router.post('/console/sign-in/:link', signedOut, (ctx) => signInByLink(ctx, services, limit, ctx.params.link));
  router.post('/console/sign-out', async (ctx) => {
    const session = sessionOf(ctx);
    if (session) await signOut(services.database, session);
    ctx.set('Set-Cookie', services.cookie.clear());
    redirect(ctx, services, '/console/sign-in');
  });
  return router;
}

interface SignInShown {
  error?: string;
  clientId?: string;
  role?: ConsoleRole;
  next: string | undefined;
}

/** Shows the form for the client's credentials. The secret is never shown again. */
function showSignIn(ctx: AppContext, services: Services, shown: SignInShown, status = 200) {
  const { error, clientId = '', role, next } = shown;
  const content = (
    <section class="sign-in card stack">
      <h1>Sign in to the {services.config.environment}</h1>
      {error && (
        <p class="banner bad" role="alert">
          {error}
        </p>
      )}
      <form class="stack" method="post" action="/console/sign-in">
        {next !== undefined && <input type="hidden" name="next" value={next} />}
        <Field {...FIELD} label="Client id" name="client_id" value={clientId} autoComplete="username" />
        <Field {...FIELD} label="Client secret" name="client_secret" type="password" autoComplete="current-password" />
        <label class="check">
          <input type="checkbox" name="role" value="viewer" checked={role === 'viewer'} />
          <span>View only: this session cannot change anything</span>
        </label>
        <Submit>Sign in</Submit>
      </form>
      <p class="muted">
        These are the credentials with which your system requests tokens. A colleague without them signs in with a link
        from your system (<code>POST /console-sessions</code>) or from the operator.
      </p>
    </section>
  );
  show(ctx, services, { title: 'Sign in', content, status });
}

/**
 * The steps of a sign-in with credentials. The origin was checked before. A failure counts in the limit of the token
 * endpoint, and an unknown client and a wrong secret do the same work and get the same response.
 */
async function signInWithCredentials(ctx: AppContext, services: Services, limit: PostgresLimit): Promise<void> {
  const { authority, failures, database } = services;
  const { address } = ctx.state;
  const fields = await readForm(ctx, MAX_SIGN_IN_BYTES);
  const clientId = fields.get('client_id')?.trim() ?? '';
  const secret = new Secret(fields.get('client_secret')?.trim() ?? '');
  if (isId(clientId)) ctx.state.tokenClient = { clientId: clientId.toLowerCase() };
  const role: ConsoleRole = fields.get('role') === 'viewer' ? 'viewer' : 'editor';
  const next = nextOf(fields.get('next') ?? undefined);
  await failures.check(address);
  const client = await authority.verifyClient(clientId, secret, address);
  if (!client) {
    await failures.count(address);
    const error = 'The client is unknown or its secret is wrong.';
    // A secret that was typed in the wrong field is not echoed.
    return showSignIn(ctx, services, { error, clientId: isId(clientId) ? clientId : '', role, next }, 401);
  }
  const { secretId, scopes } = client;
  ctx.state.tokenClient = { clientId: client.clientId, secretId };
  await limit.consume(database, client.clientId);
  const grant: ConsoleGrant = { clientId: client.clientId, secretId, role, scopes };
  const { token } = await database.transaction((tx) => startSession(tx, grant, { signedInBy: 'credentials', address }));
  ctx.set('Set-Cookie', services.cookie.set(token));
  redirect(ctx, services, next ?? '/console');
}

/**
 * The page of a link. It does not swap the code: a preview of the link in a chat would use it up. The script moves the
 * code from the address into the form.
 */
async function showLink(ctx: AppContext, services: Services, id = ''): Promise<void> {
  const link = await readLink(services.database, id);
  if (!link) throw new PageError(404, 'Link not valid', USED);
  const content = (
    <section class="sign-in card stack">
      <h1>
        Sign in as <Untrusted text={link.clientName} />
      </h1>
      <Facts
        of={{
          Client: <code>{link.clientId}</code>,
          Environment: services.config.environment,
          Role: link.role === 'viewer' ? 'viewer: this session cannot change anything' : 'editor',
        }}
      />
      <form class="stack" method="post" action={`/console/sign-in/${id}`}>
        <Field {...FIELD} label="Code: the part of the link after #" name="code" />
        <Submit>Sign in</Submit>
      </form>
      <p class="muted">The link works once, within 5 minutes of its creation.</p>
    </section>
  );
  show(ctx, services, { title: 'Sign in', content });
}

const USED = 'The link is unknown, used or expired, or the code is wrong. Ask for a new link.';

async function signInByLink(ctx: AppContext, services: Services, limit: PostgresLimit, id = ''): Promise<void> {
  const { failures, database } = services;
  const { address } = ctx.state;
  const fields = await readForm(ctx, MAX_SIGN_IN_BYTES);
  await failures.check(address);
  const code = new Secret(fields.get('code')?.trim().replace(/^.*#/, '') ?? '');
  const swapped = await swapCode(database, { id, code, address }, (tx, signer) => limit.consume(tx, signer));
  if (!swapped) {
    await failures.count(address);
    throw new PageError(401, 'Link not valid', USED);
  }
  ctx.state.tokenClient = { clientId: swapped.session.clientId };
  ctx.set('Set-Cookie', services.cookie.set(swapped.token));
  redirect(ctx, services, '/console');
}

/** A page of the console to go to after the sign-in; any other address is ignored. */
function nextOf(next: unknown): string | undefined {
  const text = typeof next === 'string' ? next : '';
  if (!/^\/console(?:[/?][\x21-\x7e]*)?$/.test(text) || text.includes('\\')) return undefined;
  // As a browser reads it: `/console/../x` and `/console/%2e%2e/x` are no pages of the console.
  const { pathname, search } = new URL(text, 'http://localhost');
  return isConsolePath(pathname) && !pathname.startsWith('/console/sign-') ? `${pathname}${search}` : undefined;
}

const FIELD = { required: true, class: 'mono' } as const;
