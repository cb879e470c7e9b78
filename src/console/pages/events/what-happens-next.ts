import { relativeTime } from '../../../relative-time.js';
import type { StoryDelivery } from '../../../webhooks/read-event-story.js';
import { utcText } from '../../components/time.js';
import { receiverSentence } from './outcome.js';

/** The sentence at the top of a delivery. */
export interface WhatHappensNext {
  /** What happens next, or how it ended: `Waiting: attempt 3 at 2026-11-22 06:34:10 UTC, in 4 min.` */
  next: string;
  /** What the receiver did until now; empty where nothing was attempted. */
  until: string;
  /** `next` and `until` without what changes by the second: announced when it changes. */
  announcement: string;
}

type Delivery = Pick<
  StoryDelivery,
  'status' | 'reason' | 'attemptCount' | 'nextAttemptAt' | 'finishedAt' | 'attempts' | 'endpoint'
>;

/** Says in plain words what happens to a delivery next. @param now the server's clock */
export function whatHappensNext(delivery: Delivery, now: Date): WhatHappensNext {
  const until = receiverSentence(delivery.attempts);
  const [stable, more] = sentence(delivery, now);
  return { next: stable + more, until, announcement: [stable, until].filter(Boolean).join(' ') };
}

/** @returns the part of the sentence that holds until something happens, and the part that changes by the second */
function sentence(delivery: Delivery, now: Date): [string, string] {
  const { status, attemptCount, nextAttemptAt, finishedAt } = delivery;
  const at = finishedAt ? ` at ${utcText(finishedAt.toISOString())}` : '';
  switch (status) {
    case 'succeeded':
      return [`Delivered by attempt ${attemptCount}${at}. Nothing more is sent.`, ''];
    case 'failed':
      return [`${FAILED[delivery.reason ?? ''] ?? 'Failed'}${at}. ${wayBack(delivery)}`, ''];
    case 'cancelled':
      return [`${CANCELLED[delivery.reason ?? ''] ?? 'Cancelled'}${at}. ${wayBack(delivery)}`, ''];
    case 'pending':
      return pending(attemptCount + 1, nextAttemptAt, now);
  }
}

function pending(number: number, at: Date | null, now: Date): [string, string] {
  if (at === null || at <= now) {
    const late = at !== null && now.getTime() - at.getTime() > LATE ? ` It was planned ${relativeTime(at, now)}.` : '';
    return [`Attempt ${number} is being made now, or starts as soon as there is capacity.`, late];
  }
  return [`Waiting: attempt ${number} at ${utcText(at.toISOString())}`, `, ${relativeTime(at, now)}.`];
}

/** An attempt takes up to 16 s. Later than this it is late, ms. */
const LATE = 20_000;

const FAILED: Readonly<Record<string, string>> = {
  exhausted: 'Failed: every planned attempt was used',
  endpoint_gone: 'Failed: the receiver answered 410, which disabled the endpoint',
};

const CANCELLED: Readonly<Record<string, string>> = {
  endpoint_disabled: 'Cancelled: the endpoint was disabled',
  endpoint_deleted: 'Cancelled: the endpoint was deleted',
  endpoint_gone: 'Cancelled: the endpoint was disabled after an answer of 410',
};

function wayBack({ endpoint }: Delivery): string {
  if (endpoint.deletedAt !== null) return 'The endpoint is deleted, so that it cannot be sent again.';
  if (!endpoint.enabled) return 'To send it, enable the endpoint; then retry it here, or recover all that was missed.';
  return 'Nothing more is sent by itself. When the receiver works, retry it here.';
}
