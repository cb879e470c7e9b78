import { timeValue } from '../components/parts.js';
import type { Visit } from '../page.js';

// The paths of pages that other pages link to.

export const endpointPath = (webhookId: string) => `/console/endpoints/${webhookId}` as const;

/** The link to the form of a new endpoint. */
export const REGISTER = { href: '/console/endpoints/new', text: 'Register an endpoint' };

/** @param deliveryId the delivery to open and scroll to */
export function eventPath(eventId: string, deliveryId?: string | null): `/console${string}` {
  return `/console/events/${eventId}${deliveryId ? `?delivery=${deliveryId}#delivery-${deliveryId}` : ''}`;
}

export const attemptPath = (deliveryId: string, number: number | string) =>
  `/console/deliveries/${deliveryId}/attempts/${number}` as const;

/** The deliveries of the events of a time, such as a step of a plot, at all endpoints or one. */
export const deliveriesOf =
  (webhookId?: string) =>
  ({ start, end }: { start: Date; end: Date }) => {
    const range = { created_after: timeValue(start), created_before: timeValue(end) };
    return `/console/deliveries?${new URLSearchParams({ ...(webhookId && { webhookId }), ...range })}`;
  };

/** The page of a transfer; undefined where the session may not read transfers. */
export function transferHref({ session }: Pick<Visit, 'session'>, id: string): string | undefined {
  return session.scopes.has('transfers:read') ? `/console/transfers/${id}` : undefined;
}

/** The form of a sandbox transfer that completes on its own. */
export const MOVING_TRANSFER = '/console/transfers/new?outcome=SANDBOX-COMPLETE';
