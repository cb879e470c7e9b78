import type { ComponentChildren, VNode } from 'preact';
import type { ConsoleSession } from '../auth/console-sessions.js';
import { Untrusted, visibleText } from './components/untrusted.js';
import type { Page } from './page.js';

/** What surrounds the content of a page. */
export interface Frame {
  title: string;
  environment: string;
  /** Undefined where nobody is signed in. */
  session?: ConsoleSession | undefined;
  /** The client that a sign-in link is for. */
  clientName?: string | undefined;
  /** The pages with an entry in the navigation. */
  navigation?: readonly Page[] | undefined;
  /** The path that decides which entry of the navigation is marked. */
  path?: string | undefined;
  /** Shown once above the content. */
  notice?: string | null | undefined;
}

/** A page of the console with its navigation, client and environment. */
export function Layout({ children, ...frame }: Frame & { children?: ComponentChildren }): VNode {
  const { title, environment, session, notice } = frame;
  const clientName = session?.clientName ?? frame.clientName;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{visibleText([title, clientName, environment].filter(Boolean).join(' · '))}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/console/assets/console.css" />
        <script src="/console/assets/live.js" defer />
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <header class="top">
          <div class="top-row">
            <a class="brand" href="/console">
              Transfer Service
            </a>
            <span class={`badge environment environment-${environment}`}>{environment}</span>
            {clientName && (
              <span class="client" title={`Client ${session?.clientId ?? ''}`}>
                <Untrusted text={clientName} />
              </span>
            )}
            {session && <SignOut session={session} />}
          </div>
          {session && <Navigation {...frame} session={session} />}
        </header>
        <main id="content" tabindex={-1}>
          {notice && (
            <p class="notice" role="status">
              {notice}
            </p>
          )}
          {children}
        </main>
      </body>
    </html>
  );
}

function SignOut({ session }: { session: ConsoleSession }): VNode {
  return (
    <form class="sign-out" method="post" action="/console/sign-out">
      <span class="muted">{session.role}</span>
      <button type="submit" class="quiet">
        Sign out
      </button>
    </form>
  );
}

function Navigation({ navigation = [], path = '', session }: Frame & { session: ConsoleSession }): VNode {
  const current = currentOf(navigation, path);
  const visible = navigation.filter(({ scope }) => scope === null || session.scopes.has(scope));
  return (
    <nav aria-label="Console">
      <ul>
        {visible.map((page) => (
          <li key={page.path}>
            <a href={page.path} aria-current={page === current ? 'page' : undefined}>
              {page.navigation}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The entry whose path is the longest prefix of `path`. `/console` itself is the entry of no other page. */
function currentOf(navigation: readonly Page[], path: string): Page | undefined {
  return navigation
    .filter(({ path: own }) => path === own || (own !== '/console' && path.startsWith(`${own}/`)))
    .sort((one, other) => other.path.length - one.path.length)[0];
}
