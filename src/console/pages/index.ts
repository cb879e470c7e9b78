import type { Form, Page } from '../page.js';
import { endpointPages } from './endpoints/index.js';
import { eventPages } from './events.js';
import { overviewPages } from './overview.js';
import { settingsPages } from './settings.js';
import { transferPages } from './transfers.js';

/** Every page and form of the console; the navigation has their order. */
export const declared: readonly (Page | Form)[] = [
  ...overviewPages,
  ...eventPages,
  ...endpointPages,
  ...transferPages,
  ...settingsPages,
];
