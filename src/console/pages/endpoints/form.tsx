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
  config: Pick<ConsoleConfig, 'environment' | 'receivers'>;
}

/** The fields of an endpoint that can be changed later. */
export function EndpointFields({ url = '', description, refused, config }: Props) {
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

/** The description as the API takes it: an empty field is none. */
export const descriptionOf = (fields: URLSearchParams): string | null => fields.get('description')?.trim() || null;
