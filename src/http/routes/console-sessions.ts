import { z } from 'zod';
import { CLIENT_SCOPES } from '../../auth/caller.js';
import { CONSOLE_ROLES, makeSignInLink } from '../../auth/console-sessions.js';
import type { AppDependencies } from '../context.js';
import { routesOf } from '../route.js';
import { present, requestBody, time, view } from '../schemas/fields.js';

export const newSession = requestBody('ConsoleSessionCreate', {
  role: z.enum(CONSOLE_ROLES).default('viewer').meta({
    description: 'A `viewer` cannot change anything; an `editor` has all scopes of the token.',
  }),
});

export const signInLink = view('ConsoleSignInLink', {
  url: z.url().meta({
    description: 'Opens one console session. Send it to one person, and do not store it.',
    examples: ['https://api.example.com/console/sign-in/019abe01-7a10-7c44-9d02-3f1f6f0c8a11#a-code-of-43-characters'],
  }),
  expires_at: time,
});

/** `/console-sessions`. */
export function consoleSessionRoutes({ config }: AppDependencies) {
  const route = routesOf('Console', CLIENT_SCOPES);
  return [
    route('POST', '/console-sessions', {
      operationId: 'createConsoleSession',
      summary: 'Create a console sign-in link',
      description:
        "An editor's session has the scopes of the token, a viewer's only those that end in `:read`. It ends when the secret behind the token is revoked. `Idempotency-Key` is ignored, so no link is stored.",
      idempotencyKey: 'ignored',
      body: newSession,
      status: 201,
      returns: signInLink,
      refusals: ['console_link_limit_reached'],
      async handle({ caller, body: { role }, db }) {
        const { clientId, secretId } = caller;
        const grant = { clientId, secretId, role, scopes: [...caller.scopes] };
        return present(signInLink, await makeSignInLink(db, `client:${clientId}`, config.baseUrl, grant));
      },
    }),
  ];
}
