import type { Visit } from '../../page.js';
import { type Endpoint, isEditor, pathOf } from './endpoint.js';
import { EndpointName } from './name.js';

/** The pages of one endpoint; `''` is its first one. */
export type EndpointTab = '' | 'statement' | 'recover' | 'check' | 'new-secret' | 'edit' | 'delete';

const TABS: readonly { tab: EndpointTab; name: string; editor?: true; sandbox?: true }[] = [
  { tab: '', name: 'Health' },
  { tab: 'statement', name: 'Statement' },
  { tab: 'recover', name: 'Recover', editor: true },
  { tab: 'check', name: 'Receiver check', sandbox: true },
  { tab: 'new-secret', name: 'New secret', editor: true },
  { tab: 'edit', name: 'Edit', editor: true },
  { tab: 'delete', name: 'Delete', editor: true },
];

interface Props {
  endpoint: Endpoint;
  here: EndpointTab;
  visit: Pick<Visit, 'session' | 'config'>;
}

/** The top of every page of one endpoint: which one it is, and the ways to its other pages. */
export function EndpointHead({ endpoint, here, visit }: Props) {
  const editor = isEditor(visit);
  const sandbox = visit.config.environment === 'sandbox';
  const tabs = TABS.filter((one) => (editor || !one.editor) && (sandbox || !one.sandbox));
  const path = pathOf(endpoint.webhookId);
  return (
    <header class="endpoint-top">
      <p class="crumb">
        <a href="/console/endpoints">Endpoints</a>
      </p>
      <h1>{HEADINGS[here]}</h1>
      <EndpointName endpoint={endpoint} />
      <nav class="tabs" aria-label="This endpoint">
        <ul>
          {tabs.map(({ tab, name }) => (
            <li key={tab}>
              <a href={tab === '' ? path : `${path}/${tab}`} aria-current={tab === here ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
    </header>
  );
}

const HEADINGS: Readonly<Record<EndpointTab, string>> = {
  '': 'Endpoint',
  statement: 'Statement',
  recover: 'Recover what was missed',
  check: 'Is my receiver right?',
  'new-secret': 'Switch over to a new secret',
  edit: 'Edit the endpoint',
  delete: 'Delete the endpoint',
};
