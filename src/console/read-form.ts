import { MAX_BODY_BYTES, readBytes } from '../http/body.js';
import { limitParameters } from '../http/limits.js';
import type { AppContext } from '../http/state.js';
import { PageError } from './page-error.js';

/**
 * The fields of a form, `application/x-www-form-urlencoded` in UTF-8.
 * @param limit in bytes
 * @throws PageError 400 | 415; Refusal payload_too_large | too_many_parameters | malformed_request (cut off)
 */
export async function readForm(ctx: AppContext, limit = MAX_BODY_BYTES): Promise<URLSearchParams> {
  const encoding = ctx.get('Content-Encoding').trim().toLowerCase();
  const type = ctx.get('Content-Type').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded' || (encoding !== '' && encoding !== 'identity')) {
    throw new PageError(415, 'Unsupported media type', 'Send the form as application/x-www-form-urlencoded.');
  }
  const bytes = await readBytes(ctx, limit);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new PageError(400, 'Malformed request', 'The form is not valid UTF-8.');
  }
  limitParameters(text, 'form');
  return new URLSearchParams(text);
}
