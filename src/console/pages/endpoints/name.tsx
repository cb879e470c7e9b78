import { Untrusted } from '../../components/untrusted.js';
import type { Endpoint } from './endpoint.js';

/** An endpoint as people know it: its description, and the URL under it. Both are texts of the client, and no links. */
export function EndpointName({ endpoint: { description, url } }: { endpoint: Pick<Endpoint, 'description' | 'url'> }) {
  return (
    <span class="endpoint-name">
      {description && (
        <strong>
          <Untrusted text={description} />
        </strong>
      )}
      <code>
        <Untrusted text={url} />
      </code>
    </span>
  );
}

const DISABLED: Readonly<Record<NonNullable<Endpoint['disabled_reason']>, string>> = {
  owner: 'disabled by you',
  operator: 'disabled by the operator',
  gone: 'disabled: 410 Gone',
  failing: 'disabled: failing',
};

/** Whether the endpoint receives, and otherwise what disabled it. */
export function EndpointState({ endpoint, failing }: { endpoint: Endpoint; failing: boolean }) {
  if (!endpoint.enabled) return <span class="badge bad">{DISABLED[endpoint.disabled_reason ?? 'owner']}</span>;
  return failing ? <span class="badge warn">failing</span> : <span class="badge good">enabled</span>;
}
