import type { ComponentChildren } from 'preact';
import type { AppContext } from '../http/state.js';
import { sessionOf } from './guard.js';
import { Layout } from './layout.js';
import { sendDocument } from './render.js';
import type { Services } from './services.js';

export interface Shown {
  title: string;
  content: ComponentChildren;
  status?: number;
  /** The client that a sign-in link is for; otherwise the session's client is named. */
  clientName?: string;
  /** The path by which the navigation marks an entry; undefined: that of the request. */
  under?: string | undefined;
}

/** Sends a page in the console's layout. */
export function show(ctx: AppContext, services: Services, shown: Shown): void {
  const { title, content, status = 200, clientName, under = ctx.path } = shown;
  const { config, navigation, prefix } = services;
  const session = sessionOf(ctx);
  const frame = { title, clientName, environment: config.environment, session, navigation, path: under };
  sendDocument(
    ctx,
    <Layout {...frame} notice={session?.notice}>
      {content}
    </Layout>,
    { status, prefix },
  );
}

/** Redirects with GET (303). @param location a path of the console */
export function redirect(ctx: AppContext, { prefix }: Services, location: string): void {
  ctx.status = 303;
  ctx.set('Location', `${prefix}${location}`);
  ctx.body = null;
  ctx.status = 303;
}
