import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import Koa from 'koa';
import getRawBody from 'raw-body';
import { now } from '../clock.js';
import { answerQuestions } from '../questions.js';
import { type EventWork, type EventWorkPlan, openEventWork } from './event-work.js';

// The floor under a change by HTTP: the bare loop's work of each event behind Koa and its router, without checks,
// batches, limits, logs or metrics.

/** Opens the server, or waits for the last POST and closes it. */
export type KoaQuestion = { open: EventWorkPlan } | { close: true };

export interface KoaAnswer {
  port: number;
  /** When the last POST ended. */
  at: number;
}

let server: Server | undefined;
let work: EventWork | undefined;
const posts = new Set<Promise<void>>();

async function answer(question: KoaQuestion): Promise<KoaAnswer> {
  if ('open' in question) {
    work = await openEventWork(question.open);
    return { port: await listen(work), at: now() };
  }
  while (posts.size > 0) await Promise.all(posts);
  const at = now();
  server?.closeAllConnections();
  server?.close();
  await work?.close();
  return { port: 0, at };
}

async function listen(events: EventWork): Promise<number> {
  const router = new Router();
  router.post('/operator/transfers/:id/status', async (ctx) => {
    const { status } = JSON.parse(await getRawBody(ctx.req, { encoding: 'utf8' })) as { status: string };
    const { id } = ctx.params as { id: string };
    const event = await events.commit(id);
    ctx.body = { id, status };
    const post: Promise<void> = events.post(event).finally(() => posts.delete(post));
    posts.add(post);
  });
  const app = new Koa();
  app.use(router.routes());
  const listening = app.listen(0, '127.0.0.1');
  server = listening;
  await new Promise((resolve) => listening.once('listening', resolve));
  return (listening.address() as AddressInfo).port;
}

answerQuestions(answer);
