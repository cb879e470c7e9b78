/** A request to be written as a command. */
export interface CurlRequest {
  method: string;
  url: string;
  headers: readonly (readonly [name: string, value: string])[];
  /** Sent unchanged; it must not contain U+0000, which no argument can hold. */
  body: string;
}

/**
 * The request as a command for a POSIX shell. Every argument is single-quoted, so that no character of URL or body has a
 * meaning for the shell; `--globoff` takes the meaning of `{}[]` for curl, and `--data-raw` that of a leading `@`.
 */
export function curlCommand({ method, url, headers, body }: CurlRequest): string {
  const options = [
    ['--request', method],
    ['--url', url],
    ...headers.map(([name, value]) => ['--header', `${name}: ${value}`]),
    ['--data-raw', body],
  ];
  return ['curl --globoff', ...options.map(([name = '', value = '']) => `${name} ${quoted(value)}`)].join(' \\\n  ');
}

/** In single quotes everything is literal but the quote itself (POSIX.1-2024, Shell Command Language §2.2.2). */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
