import { page } from '../page.js';

export const overviewPages = [
  page({
    path: '/console',
    scope: 'webhooks:read',
    title: 'Overview',
    navigation: 'Overview',
    view: () => <h1>Overview</h1>,
  }),
];
