/** The head of a response, which the service judges by its first line alone. Texts are the bytes in Latin-1. */

/** `HTTP/1.x NNN`, and nothing, or a blank and a reason. */
const STATUS_LINE = /^HTTP\/1\.\d [1-9]\d\d[ \t\r\n]/;
const SAMPLE = 'HTTP/1.1 200 ';

/** Whether a status line begins like this text. */
export const mayBeStatusLine = (text: string) => STATUS_LINE.test(text + SAMPLE.slice(text.length));

/** The status of a text that begins with a status line. */
export const statusOf = (text: string) => Number(text.slice('HTTP/1.1 '.length, SAMPLE.length - 1));

/** Names the protocol of a response that does not begin with a status line. */
export function describeForeign(text: string): string {
  const [first, second, , fourth] = Buffer.from(text.slice(0, 4), 'latin1');
  // HTTP/2 begins with a SETTINGS frame, TLS with an alert or a handshake record.
  if (/^(?:PRI \* )?HTTP\/2/.test(text) || (first === 0 && fourth === 4)) return 'The receiver speaks HTTP/2 only.';
  if ((first === 0x15 || first === 0x16) && second === 3) return 'The receiver speaks TLS: the URL needs https.';
  return 'The response does not begin with an HTTP/1.x status line.';
}

/** The end of a head, even of one whose lines end with LF alone. */
const END_OF_HEAD = /\n\r?\n/;

/** The length of the head with which this text begins; undefined: it continues after the text. */
export function lengthOfHead(text: string): number | undefined {
  const end = END_OF_HEAD.exec(text);
  return end ? end.index + end[0].length : undefined;
}

/** A field of RFC 9110, section 5. Its value may have blanks around it. */
const FIELD = /^([!#$%&'*+.^_`|~0-9a-z-]+):([\t -~\x80-\xff]*)$/i;

/** What makes a line no field. The first that matches names it. */
const LINE_FAULTS: readonly [name: string, pattern: RegExp][] = [
  ['a folded line', /^[\t ]/],
  ['a line without a colon', /^[^:]*$/],
  ['a blank before the colon of a header', /^[^:]*[\t ]:/],
  ['a header name with an invalid character', /^(?![!#$%&'*+.^_`|~\w-]+:)/],
  ['a control character in a header', /^/],
];

const LENGTH = /^\d{1,15}$/;

/** Names what is wrong with a head. HTTP parsers refuse all of it: RFC 9112, sections 2.2, 5 and 6.3. */
export function faultsOf(text: string): string[] {
  const { lines, valuesOf } = parse(text);
  const lengths = valuesOf('content-length').flatMap((value) => value.split(','));
  const faultOfLine = (line: string) => LINE_FAULTS.find(([, pattern]) => pattern.test(line))?.[0];
  const badLines = lines.map((line) => line.replaceAll('\r', '')).filter((line) => !FIELD.test(line));
  const others = {
    'a line that ends with LF alone': /(?<!\r)\n/.test(text),
    'a CR without LF': /\r(?!\n)/.test(text),
    'an unknown HTTP version': !/^HTTP\/1\.[01]/.test(text),
    'both Content-Length and Transfer-Encoding': lengths.length > 0 && valuesOf('transfer-encoding').length > 0,
    'more than one Content-Length': lengths.length > 1,
    'a Content-Length that is not a number': lengths.some((length) => !LENGTH.test(length.trim())),
  };
  const found = Object.entries(others).flatMap(([name, isFound]) => (isFound ? [name] : []));
  return [...found, ...new Set(badLines.flatMap((line) => faultOfLine(line) ?? []))];
}

/** Whether an HTTP parser surely accepts a head without faults: it is short, and asks for no other protocol. */
export const isPlain = (head: string) => head.length < 4_096 && !/\n(?:upgrade|trailer):/i.test(head);

interface Head {
  /** Without the status line and the empty line. */
  lines: readonly string[];
  /** The values of a header of this lower-case name. */
  valuesOf(name: string): readonly string[];
}

function parse(text: string): Head {
  const lines = text.split(/\r?\n/).slice(1, -2);
  const fields = lines.flatMap((line) => {
    const [, name, value] = FIELD.exec(line) ?? [];
    return name && value !== undefined ? [{ name: name.toLowerCase(), value: value.trim() }] : [];
  });
  const valuesOf = (wanted: string) => fields.filter(({ name }) => name === wanted).map(({ value }) => value);
  return { lines, valuesOf };
}
