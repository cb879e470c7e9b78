import type { VNode } from 'preact';
import type { LinkInfo } from '../auth/console-codes.js';
import type { ConsoleSession } from '../auth/console-sessions.js';
import { Untrusted } from './components/untrusted.js';

const STATES: Readonly<Record<string, string>> = {
  out: 'You are signed out.',
  ended: 'Your session has ended. Sign in again.',
};

interface SignInProps {
  environment: string;
  /** The reason for the page; an unknown one is ignored. */
  state?: string | undefined;
  error?: string | undefined;
  clientId?: string | undefined;
  next?: string | undefined;
}

/** The form for the client's credentials. The secret is never shown again. */
export function SignInView({ environment, state = '', error, clientId = '', next }: SignInProps): VNode {
  return (
    <section class="sign-in card">
      <h1>Sign in to the {environment}</h1>
      {Object.hasOwn(STATES, state) && !error && (
        <p class="notice" role="status">
          {STATES[state]}
        </p>
      )}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <form method="post" action="/console/sign-in">
        {next !== undefined && <input type="hidden" name="next" value={next} />}
        <label class="field">
          <span>Client id</span>
          <input name="client_id" value={clientId} required autocomplete="username" spellcheck={false} class="mono" />
        </label>
        <label class="field">
          <span>Client secret</span>
          <input name="client_secret" type="password" required autocomplete="current-password" class="mono" />
        </label>
        <label class="check">
          <input type="checkbox" name="role" value="viewer" />
          <span>View only: this session changes nothing</span>
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p class="muted">
        These are the credentials that your system requests tokens with. A colleague without them signs in by a link
        that your system (<code>POST /console-sessions</code>) or the operator makes.
      </p>
    </section>
  );
}

interface LinkProps {
  link: LinkInfo;
  id: string;
  environment: string;
  error?: string | undefined;
}

/** The page of a sign-in link. The script moves the code from the address into the form. */
export function LinkView({ link, id, environment, error }: LinkProps): VNode {
  return (
    <section class="sign-in card">
      <h1>
        Sign in as <Untrusted text={link.clientName} />
      </h1>
      <dl class="facts">
        <dt>Client</dt>
        <dd>
          <Untrusted text={link.clientName} /> <code>{link.clientId}</code>
        </dd>
        <dt>Environment</dt>
        <dd>{environment}</dd>
        <dt>Role</dt>
        <dd>{link.role === 'viewer' ? 'viewer: this session changes nothing' : 'editor'}</dd>
      </dl>
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      <form method="post" action={`/console/sign-in/${id}`}>
        <label class="field" data-code-field>
          <span>Code: the part of the link after #</span>
          <input name="code" required autocomplete="off" spellcheck={false} class="mono" data-code />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p class="muted">The link works once, and until 5 minutes after it was made.</p>
    </section>
  );
}

/** A live session is not replaced: the person signs out first. */
export function AlreadySignedIn({ session }: { session: ConsoleSession | undefined }): VNode {
  return (
    <section class="sign-in card">
      <h1>You are signed in</h1>
      <p>
        This browser has a session of{' '}
        <strong>
          <Untrusted text={session?.clientName ?? ''} />
        </strong>{' '}
        ({session?.role}). To sign in as another client or with another role, sign out first; a sign-in link stays good
        until then.
      </p>
      <form method="post" action="/console/sign-out">
        <button type="submit">Sign out</button>
      </form>
      <p>
        <a href="/console">Go on with this session</a>
      </p>
    </section>
  );
}
