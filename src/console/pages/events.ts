import type { Form, Page } from '../page.js';
import { deliveryList } from './deliveries/list.js';
import { attemptPage, explainForm } from './events/attempt.js';
import { deliveryPage, retryForm } from './events/delivery.js';
import { eventPage } from './events/event.js';
import { eventList } from './events/list.js';

/** The pages of events, deliveries and attempts. */
export const eventPages: readonly (Page | Form)[] = [
  eventList,
  eventPage,
  deliveryList,
  deliveryPage,
  retryForm,
  attemptPage,
  explainForm,
];
