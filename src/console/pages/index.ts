import type { Form, Page } from '../page.js';
import { attemptPage, explainForm } from './attempt.js';
import { deliveryList } from './deliveries.js';
import { checkPages } from './endpoints/check.js';
import { editPages, endPages, registerPages } from './endpoints/edit.js';
import { endpointList, endpointPages } from './endpoints/health.js';
import { newSecretPages } from './endpoints/new-secret.js';
import { recoveryPages } from './endpoints/recoveries.js';
import { statementPages } from './endpoints/statement.js';
import { eventList, eventPage, retryForm } from './events.js';
import { notificationsPage } from './notifications.js';
import { operatorPage } from './operator.js';
import { operatorClientPages } from './operator-clients.js';
import { overview } from './overview.js';
import { retriedPage, retrySelectedForm } from './retry-deliveries.js';
import { searchPage } from './search.js';
import { settingsPages } from './settings.js';
import { transferPages } from './transfers.js';

/**
 * Every page and form of the console; the navigation has their order. A path without a parameter precedes the paths
 * that it would match.
 */
export const declared: readonly (Page | Form)[] = [
  overview,
  ...[eventList, eventPage, retryForm, deliveryList, retriedPage, retrySelectedForm, attemptPage, explainForm],
  ...[endpointList, ...registerPages, ...endpointPages, ...editPages, ...statementPages, ...recoveryPages],
  ...[...checkPages, ...newSecretPages, ...endPages],
  ...transferPages,
  notificationsPage,
  ...settingsPages,
  ...[searchPage, operatorPage, ...operatorClientPages],
];
