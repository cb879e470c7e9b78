import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { type ConsoleSession, isOperator } from '../auth/console-sessions.js';
import type { AppContext } from '../http/context.js';
import type { Config } from '../platform/config/config.js';
import { Tabs } from './components/parts.js';
import { Untrusted, visibleText } from './components/values.js';
import { type Services, sessionOf } from './guard.js';
import { isForm, type Page } from './page.js';
import { declared } from './pages/index.js';

/** No inline script or style, nothing from another origin, no frame. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The headers of every response under `/console`, besides those of every response (`secureHeaders`). */
export const CONSOLE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
};

/** The pages with an entry in the navigation, in order. */
const NAVIGATION = declared.filter((one): one is Page => !isForm(one) && one.navigation !== undefined);

/** The bell counts so many. */
export const MOST_UNSEEN = 99;

export interface Shown {
  title: string;
  content: ComponentChildren;
  status?: number;
  /** The path by which the navigation marks an entry; undefined: that of the request. */
  under?: string | undefined;
  /** Notifications that the client's people have not seen. */
  unseen?: number;
  /** The content has a table with the id `rows`. */
  hasRows?: true | undefined;
}

/** Sends a page in the console's layout. */
export function show(ctx: AppContext, services: Services, shown: Shown): void {
  const document = <Layout {...shown} path={ctx.path} config={services.config} session={sessionOf(ctx)} />;
  // The renderer escapes every text and attribute.
  ctx.body = `<!doctype html>\n${withPrefix(renderToString(document), services.prefix)}`;
  ctx.status = shown.status ?? 200;
  ctx.type = 'text/html';
}

/** Puts the prefix before the console's own paths. The renderer escapes quotation marks, so that text never matches. */
function withPrefix(html: string, prefix: string): string {
  return prefix === '' ? html : html.replace(/ ((?:href|src|action|data-live)=")\/console/g, ` $1${prefix}/console`);
}

/** Redirects with GET (303). @param location a path of the console */
export function redirect(ctx: AppContext, { prefix }: Services, location: string): void {
  ctx.set('Location', `${prefix}${location}`);
  ctx.body = null;
  ctx.status = 303;
}

type LayoutProps = Shown & { path: string; config: Config; session: ConsoleSession | undefined };

/** A page of the console with its navigation, client, environment, and the notice that the last form left. */
function Layout(props: LayoutProps): VNode {
  const { title, config, session, path, under = path, unseen = 0, content, hasRows } = props;
  const { environment } = config;
  const clientName = session?.clientName;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{visibleText([title, clientName, environment].filter(Boolean).join(' · '))}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/console/assets/console.css" />
        <script src="/console/assets/idiomorph.min.js" defer />
        <script src="/console/assets/live.js" defer />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        {hasRows && (
          <a class="skip" href="#rows">
            Skip to the table
          </a>
        )}
        <header class="top">
          <div class="row">
            <a class="brand" href="/console">
              Transfer Service
            </a>
            <span class={environment === 'production' ? 'badge' : 'badge warn'}>{environment}</span>
            {clientName && (
              <span class="client" title={`Client ${session?.clientId ?? ''}`}>
                <Untrusted text={clientName} />
              </span>
            )}
            {session && !isOperator(session) && (
              <search>
                <form class="row search" action="/console/search">
                  <input
                    id="search"
                    name="q"
                    type="search"
                    required
                    maxLength={200}
                    placeholder="Id, end of an id, reference"
                    aria-label="Search for an id or a reference"
                  />
                  <button type="submit">Search</button>
                </form>
              </search>
            )}
            {session?.scopes.has('webhooks:read') && <Bell unseen={unseen} />}
            {session && (
              <form class="row" method="post" action="/console/sign-out">
                <span class="muted role">{isOperator(session) ? 'operator' : session.role}</span>
                <button type="submit">Sign out</button>
              </form>
            )}
          </div>
          {session && <Navigation path={under} session={session} guide={`${config.baseUrl}/docs/guide`} />}
        </header>
        <main id="content" tabindex={-1}>
          {session?.notice && (
            <p class="banner" role="status">
              {session.notice}
            </p>
          )}
          {content}
        </main>
      </body>
    </html>
  );
}

/** The link to the notifications, with the number of new ones. */
function Bell({ unseen }: { unseen: number }): VNode {
  const count = unseen > MOST_UNSEEN ? `${MOST_UNSEEN}+` : unseen;
  return (
    <a class="row bell" href="/console/notifications" title="Notifications">
      <svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" aria-hidden="true">
        <path d="M2.5 12h11M4 12V7a4 4 0 0 1 8 0v5M6.5 14h3" stroke-width="1.4" stroke-linecap="round" />
      </svg>
      <span class="visually-hidden">Notifications</span>
      {unseen > 0 && (
        <span class="badge warn">
          {count}
          <span class="visually-hidden"> new</span>
        </span>
      )}
    </a>
  );
}

function Navigation({ path, session, guide }: { path: string; session: ConsoleSession; guide: string }): VNode {
  const visible = NAVIGATION.filter(({ scope }) => (scope === null ? !isOperator(session) : session.scopes.has(scope)));
  const tabs = visible.map((page) => ({ href: page.path, text: page.navigation }));
  return <Tabs label="Console" tabs={[...tabs, { href: guide, text: 'Guide' }]} here={currentOf(path)?.path} />;
}

/** The entry whose path begins `path`. `/console` itself is the entry of no other page. */
function currentOf(path: string): Page | undefined {
  return NAVIGATION.find(({ path: own }) => path === own || (own !== '/console' && path.startsWith(`${own}/`)));
}
