import { MAX_CONCURRENCY } from '../../../max-concurrency.js';
import { Field } from '../../components/field.js';
import type { ConsoleConfig, RefusedForm } from '../../page.js';

/** A command that makes a secret; the service takes the secret and never shows it. */
export const MAKE_SECRET = 'openssl rand -hex 32';

const MAX_URL = 2048;
const MAX_DESCRIPTION = 255;

interface Props {
  url?: string;
  description?: string | null;
  refused?: RefusedForm | undefined;
  max_concurrency?: number | null;
  config: Pick<ConsoleConfig, 'environment' | 'receivers' | 'endpointConcurrency'>;
}

/** The fields of an endpoint that can be changed later. */
export function EndpointFields({ url = '', description, max_concurrency, refused, config }: Props) {
  return (
    <>
      <Field
        name="url"
        label="URL"
        type="url"
        value={url}
        refused={refused}
        required
        maxLength={MAX_URL}
        class="mono"
        spellcheck={false}
        autoComplete="off"
        hint={urlHint(config)}
      />
      <Field
        name="description"
        label="Description"
        value={description ?? ''}
        refused={refused}
        maxLength={MAX_DESCRIPTION}
        autoComplete="off"
        hint="Optional: how people recognise it, such as “Orders, live”."
      />
      <Field
        name="max_concurrency"
        label="Deliveries at the same time, at most"
        value={String(max_concurrency ?? '')}
        refused={refused}
        maxLength={3}
        inputMode="numeric"
        autoComplete="off"
        hint={`1 to ${MAX_CONCURRENCY}. Empty: ${config.endpointConcurrency}, the limit of the service.`}
      />
    </>
  );
}

function urlHint({ environment, receivers }: Props['config']): string {
  if (environment === 'production') return 'Where your receiver listens: https:, at a public address.';
  return receivers.allowPrivate
    ? 'Where your receiver listens. Here it may be on your own machine, such as http://localhost:4000/hooks.'
    : 'Where your receiver listens: https: or http:, at a public address.';
}

/** The secret is sent once and never shown again: the field is empty after every refusal. */
export function SecretField({ label = 'Secret', refused }: { label?: string; refused?: RefusedForm | undefined }) {
  return (
    <Field
      name="secret"
      label={label}
      type="password"
      refused={refused}
      required
      maxLength={256}
      class="mono"
      autoComplete="new-password"
      hint={
        <>
          16 to 256 printable ASCII characters, which your receiver knows too. Make one on your own machine with{' '}
          <code>{MAKE_SECRET}</code>. It cannot be read back here.
        </>
      }
    />
  );
}

/** The limit as the API takes it: an empty field is none. The API refuses a text that is no number. */
export function concurrencyOf(fields: URLSearchParams): number | string | null {
  const text = fields.get('max_concurrency')?.trim() || null;
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : text;
}

/** The description as the API takes it: an empty field is none. */
export const descriptionOf = (fields: URLSearchParams): string | null => fields.get('description')?.trim() || null;
