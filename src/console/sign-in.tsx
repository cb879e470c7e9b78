import Router from '@koa/router';
import type { ConsoleGrant, ConsoleRole } from '../auth/console-access.js';
import { readLink, swapCode } from '../auth/console-codes.js';
import { signOut, startSession } from '../auth/console-sessions.js';
import type { Handle } from '../database/database.js';
import { SharedLimit } from '../database/shared-limit.js';
import type { AppContext, State } from '../http/state.js';
import { isId } from '../id-form.js';
import { Refusal } from '../refusal.js';
import { Secret } from '../secret.js';
import { isConsolePath, sessionOf } from './guard.js';
import { PageError } from './page-error.js';
import { readForm } from './read-form.js';
import type { Services } from './services.js';
import { redirect, show } from './show.js';
import { AlreadySignedIn, LinkView, SignInView } from './sign-in-views.js';

/** The largest body of a sign-in, in bytes: it is read before the client is authenticated. */
const MAX_SIGN_IN_BYTES = 8 * 1024;

/** A sign-in writes an audit entry, which stays for good. */
const SIGN_INS_A_MINUTE = 60;

const WRONG = 'The client is unknown or its secret is wrong.';
const USED = 'The sign-in link is unknown, was used, or has expired. Ask for a new one.';

/** Sign-in with credentials or by a link, and sign-out. */
export function signInRouter(services: Services): Router<State> {
  const router = new Router<State>({ strict: true, sensitive: true });
  const permit = signInLimit();
  router.get('/console/sign-in', (ctx) => showSignIn(ctx, services, { next: nextOf(ctx.query.next) }));
  router.post('/console/sign-in', (ctx) => signInWithCredentials(ctx, services, permit));
  router.get('/console/sign-in/:link', (ctx) => showLink(ctx, services, ctx.params.link));
  router.post('/console/sign-in/:link', (ctx) => signInByLink(ctx, services, permit, ctx.params.link));
  router.post('/console/sign-out', async (ctx) => {
    const session = sessionOf(ctx);
    if (session) await signOut(services.database, session);
    ctx.set('Set-Cookie', services.cookie.clear());
    redirect(ctx, services, '/console/sign-in?state=out');
  });
  return router;
}

type Permit = (db: Handle, signer: string) => Promise<void>;

/** Limits the sign-ins of a client that has authenticated, over all processes. @throws Refusal rate_limited */
function signInLimit(): Permit {
  const limit = new SharedLimit({ name: 'console-sign-ins', points: SIGN_INS_A_MINUTE, duration: 60 });
  const detail = `A client may sign in to the console at most ${SIGN_INS_A_MINUTE} times a minute.`;
  return (db, signer) =>
    limit.consume(db, signer, (retryAfter) => new Refusal('rate_limited', detail, [], { retryAfter }));
}

interface Shown {
  next: string | undefined;
  status?: number;
  error?: string;
  clientId?: string;
}

function showSignIn(ctx: AppContext, services: Services, { status = 200, ...view }: Shown): void {
  if (sessionOf(ctx)) {
    showAlreadySignedIn(ctx, services, status);
    return;
  }
  const content = <SignInView {...view} environment={services.config.environment} state={String(ctx.query.state)} />;
  show(ctx, services, { title: 'Sign in', content, status });
}

function showAlreadySignedIn(ctx: AppContext, services: Services, status: number): void {
  show(ctx, services, { title: 'Signed in', content: <AlreadySignedIn session={sessionOf(ctx)} />, status });
}

/**
 * The steps of a sign-in with credentials. The origin was checked before. A failure counts in the limit of the token
 * endpoint, and an unknown client and a wrong secret do the same work and get the same response.
 */
async function signInWithCredentials(ctx: AppContext, services: Services, permit: Permit): Promise<void> {
  if (sessionOf(ctx)) return showAlreadySignedIn(ctx, services, 409);
  const { authority, failures, database } = services;
  const { address } = ctx.state;
  const fields = await readForm(ctx, MAX_SIGN_IN_BYTES);
  const clientId = fields.get('client_id')?.trim() ?? '';
  const secret = new Secret(fields.get('client_secret')?.trim() ?? '');
  if (isId(clientId)) ctx.state.tokenClient = { clientId: clientId.toLowerCase() };
  await failures.check(address);
  const client = await authority.verifyClient(clientId, secret, address);
  const next = nextOf(fields.get('next') ?? undefined);
  if (!client) {
    await failures.count(address);
    return showSignIn(ctx, services, { status: 401, error: WRONG, clientId: isId(clientId) ? clientId : '', next });
  }
  const { secretId, scopes } = client;
  ctx.state.tokenClient = { clientId: client.clientId, secretId };
  await permit(database, client.clientId);
  const role: ConsoleRole = fields.get('role') === 'viewer' ? 'viewer' : 'editor';
  const grant: ConsoleGrant = { clientId: client.clientId, secretId, role, scopes };
  const { token } = await database.transaction((tx) => startSession(tx, grant, { signedInBy: 'credentials', address }));
  ctx.set('Set-Cookie', services.cookie.set(token));
  redirect(ctx, services, next ?? '/console');
}

/** The page of a link. It swaps nothing: a preview of the link in a chat would use it up. */
async function showLink(ctx: AppContext, services: Services, id = '', status = 200, error?: string): Promise<void> {
  if (sessionOf(ctx)) return showAlreadySignedIn(ctx, services, status);
  const link = await readLink(services.database, id);
  if (!link) throw new PageError(error === undefined ? 404 : status, 'Link not valid', USED);
  const { environment } = services.config;
  const content = <LinkView link={link} id={id} environment={environment} error={error} />;
  show(ctx, services, { title: 'Sign in', content, status, clientName: link.clientName });
}

async function signInByLink(ctx: AppContext, services: Services, permit: Permit, id = ''): Promise<void> {
  if (sessionOf(ctx)) return showAlreadySignedIn(ctx, services, 409);
  const { failures, database } = services;
  const { address } = ctx.state;
  const fields = await readForm(ctx, MAX_SIGN_IN_BYTES);
  await failures.check(address);
  const code = new Secret(fields.get('code')?.trim().replace(/^.*#/, '') ?? '');
  const swapped = await swapCode(database, { id, code, address, permit });
  if (!swapped) {
    await failures.count(address);
    return showLink(ctx, services, id, 401, 'The code does not belong to this link.');
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
