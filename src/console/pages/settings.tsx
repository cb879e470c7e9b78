import type { VNode } from 'preact';
import { endSession, listSessions } from '../../auth/console-sessions.js';
import { formatDuration } from '../../duration.js';
import { MAX_BODY_BYTES } from '../../http/body.js';
import { presentMeta } from '../../http/presenters/meta.js';
import { RECOVERS_AN_HOUR } from '../../webhooks/recovers.js';
import { RETRIES_AN_HOUR } from '../../webhooks/retry-limit.js';
import { Untrusted } from '../components/untrusted.js';
import { type ConsoleConfig, form, page, seeOther, type Visit } from '../page.js';
import { Sessions } from './settings/sessions.js';

const settings = page({
  path: '/console/settings',
  scope: null,
  points: 2,
  title: 'Settings',
  navigation: 'Settings',
  async view({ session, config, read }) {
    const sessions = await read((db) => listSessions(db, session.clientId));
    return (
      <>
        <h1>Settings</h1>
        <div class="columns">
          <Environment config={config} />
          <Client session={session} />
          <Ladder delays={config.retryDelays} />
          <Limits config={config} />
        </div>
        <Sessions sessions={sessions} own={session} />
      </>
    );
  },
});

const end = form({
  path: '/console/sessions/{id}/end',
  scope: null,
  page: settings,
  async submit({ session, params, db }) {
    await endSession(db, session, params.id);
    return seeOther('/console/settings', 'The session is ended.');
  },
});

export const settingsPages = [settings, end];

/** What a system of the client needs before its first request. */
function Environment({ config }: { config: ConsoleConfig }): VNode {
  const meta = presentMeta(config);
  return (
    <section class="card stack" aria-labelledby="environment">
      <h2 id="environment">Environment</h2>
      <dl class="facts">
        <dt>Environment</dt>
        <dd>{meta.environment}</dd>
        <dt>Base URL and audience</dt>
        <dd>
          <code>{config.baseUrl}</code>
        </dd>
        <dt>Token URL</dt>
        <dd>
          <code>{config.authUrl}/oauth/token</code>
        </dd>
        <dt>Deliveries come from</dt>
        <dd>
          {meta.egress_addresses.length === 0
            ? 'The operator has not configured any addresses to allow.'
            : meta.egress_addresses.map((network) => (
                <div key={network}>
                  <code>{network}</code>
                </div>
              ))}
        </dd>
        <dt>Event version</dt>
        <dd>{meta.event_version}</dd>
        <dt>Service version</dt>
        <dd>{meta.version}</dd>
        <dt>API reference</dt>
        <dd>
          <a href={`${config.baseUrl}/docs`}>{config.baseUrl}/docs</a>
        </dd>
      </dl>
    </section>
  );
}

/** The planned attempts of a delivery if each fails at once. */
function Ladder({ delays }: { delays: readonly number[] }): VNode {
  const rows = [0, ...delays].map((delay, index) => ({
    number: index + 1,
    delay,
    after: delays.slice(0, index).reduce((sum, each) => sum + each, 0),
  }));
  return (
    <section class="card table-card" aria-labelledby="ladder">
      <h2 id="ladder">Attempts of a delivery</h2>
      <p class="muted">
        Each delay counts from the end of the attempt before. A delivery keeps the ladder it began with.
      </p>
      <table class="table small">
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Delay</th>
            <th scope="col">After the first</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ number, delay, after }) => (
            <tr key={number}>
              <td>{number}</td>
              <td>{delay === 0 ? 'at once' : formatDuration(delay, 'h')}</td>
              <td>{number === 1 ? '–' : inHours(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Limits({ config }: { config: ConsoleConfig }): VNode {
  const { disableAfter, retention, rateLimit, maxEndpoints, endpointConcurrency } = config;
  return (
    <section class="card stack" aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <dl class="facts">
        <dt>Requests</dt>
        <dd>{rateLimit} a second, for the API and the console together; a page of the console counts as 2 to 10</dd>
        <dt>Request body</dt>
        <dd>{MAX_BODY_BYTES / 1024} KiB</dd>
        <dt>Webhook endpoints</dt>
        <dd>{maxEndpoints}</dd>
        <dt>Deliveries at the same time</dt>
        <dd>{endpointConcurrency} to an endpoint that has no limit of its own</dd>
        <dt>Retries by hand</dt>
        <dd>{RETRIES_AN_HOUR} an hour for a delivery</dd>
        <dt>Recovers</dt>
        <dd>{RECOVERS_AN_HOUR} an hour for an endpoint</dd>
        <dt>Failing endpoint</dt>
        <dd>
          {disableAfter === 0
            ? 'Never disabled'
            : `Disabled after ${formatDuration(disableAfter)} without a success, if at least two deliveries are exhausted`}
        </dd>
        <dt>Events are kept</dt>
        <dd>{formatDuration(retention)}</dd>
      </dl>
    </section>
  );
}

function Client({ session }: { session: Visit['session'] }): VNode {
  return (
    <section class="card stack" aria-labelledby="client">
      <h2 id="client">Client</h2>
      <dl class="facts">
        <dt>Name</dt>
        <dd>
          <Untrusted text={session.clientName} />
        </dd>
        <dt>Client id</dt>
        <dd>
          <code>{session.clientId}</code>
        </dd>
        <dt>Your role</dt>
        <dd>{session.role}</dd>
        <dt>Scopes of your session</dt>
        <dd>{[...session.scopes].join(' ') || 'none'}</dd>
      </dl>
    </section>
  );
}

/** `1955m` → `32 h 35 min` */
function inHours(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (milliseconds < 60_000) return formatDuration(milliseconds);
  return [hours > 0 && `${hours} h`, (rest > 0 || hours === 0) && `${rest} min`].filter(Boolean).join(' ');
}
