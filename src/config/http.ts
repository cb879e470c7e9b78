import { z } from 'zod';
import { port } from './forms.js';
import { setting } from './setting.js';

const origin = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The URL is compared as text with the audience that clients send, so it must have the URL standard's spelling.
  const good =
    url &&
    /^https?:$/.test(url.protocol) &&
    text === url.origin + url.pathname.replace(/\/$/, '') &&
    !text.endsWith('/');
  if (!good) {
    context.addIssue({
      code: 'custom',
      message: 'give an absolute http(s) URL in lower case with no trailing slash, such as https://api.example.com',
    });
    return z.NEVER;
  }
  return text;
});

/** Where the API listens, and its public URLs. */
export const httpSettings = {
  HOST: setting(z.string().min(1), '0.0.0.0', 'Address that the API listens on (embedded stack: 127.0.0.1).'),
  PORT: setting(port, '3000', 'Port of the API. 0 picks a free port.'),
  BASE_URL: setting(
    origin,
    undefined,
    'Public URL of the API, which is also the audience of the tokens (sandbox default: http://localhost:PORT).',
  ),
  AUTH_URL: setting(
    origin,
    undefined,
    'Public URL of the token endpoint, which is also the issuer of the tokens (default: BASE_URL).',
  ),
} as const;
