const BLOCK = 65_536;
const block = (text: string) => text.repeat(Math.ceil(BLOCK / text.length));

/** By path: the start of a response, and the part that is repeated without end. */
export const FLOODS: Readonly<Record<string, readonly [once: string, again: string]>> = {
  i: ['', block('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n')],
  c: ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5', block(';name=value')],
  h: ['HTTP/1.1 200 ', block('OK ')],
};
