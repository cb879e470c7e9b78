import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Secret } from '../secret.js';
import { ConfigError } from './config-error.js';
import type { Environment } from './settings.js';

/** How to connect to Temporal with TLS. */
export interface TemporalTls {
  /** The name that the server's certificate must have; undefined: the host of the address. */
  serverName: string | undefined;
  /** The CAs of the server's certificate, PEM; undefined: those of the system. */
  serverCa: Secret | undefined;
  client: { certificate: Secret; key: Secret } | undefined;
}

type Part = 'SERVER_CA_CERT' | 'CLIENT_CERT' | 'CLIENT_KEY';

/**
 * Reads the certificates and checks that they can be used. An API key, a certificate or a server name implies TLS. Adds
 * a line for each validation error, which contains no certificate.
 * @returns false for a plaintext connection
 */
function readTls(settings: Environment, lines: string[]): TemporalTls | false {
  const known = lines.length;
  const certificateOf = (part: Part) =>
    readPart(settings, part, 'a certificate in PEM', (pem) => new X509Certificate(pem), lines);
  const ca = certificateOf('SERVER_CA_CERT');
  const certificate = certificateOf('CLIENT_CERT');
  const key = readPart(settings, 'CLIENT_KEY', 'a private key in PEM, without a passphrase', createPrivateKey, lines);
  if (lines.length === known && Boolean(certificate) !== Boolean(key)) {
    const [given, missing] = certificate ? ['CERT', 'KEY'] : ['KEY', 'CERT'];
    lines.push(`TEMPORAL_TLS_CLIENT_${missing}_PATH: is not set, but TEMPORAL_TLS_CLIENT_${given} is; give both`);
  }
  if (certificate && key && !certificate.parsed.checkPrivateKey(key.parsed)) {
    lines.push(
      'TEMPORAL_TLS_CLIENT_KEY_PATH: is not the key of TEMPORAL_TLS_CLIENT_CERT_PATH; give the two that match',
    );
  }
  const { TEMPORAL_TLS, TEMPORAL_API_KEY, TEMPORAL_TLS_SERVER_NAME: serverName } = settings;
  const wanted = TEMPORAL_TLS || TEMPORAL_API_KEY || serverName || ca || certificate;
  const client = certificate && key && { certificate: certificate.pem, key: key.pem };
  return wanted ? { serverName, serverCa: ca?.pem, client } : false;
}

/** Reads one part, from its file or from the variable itself. A validation error becomes a line. */
function readPart<Parsed>(
  settings: Environment,
  part: Part,
  form: string,
  parse: (pem: string) => Parsed,
  lines: string[],
): { pem: Secret; parsed: Parsed } | undefined {
  const [pathName, dataName] = [`TEMPORAL_TLS_${part}_PATH`, `TEMPORAL_TLS_${part}_DATA`] as const;
  const { [pathName]: path, [dataName]: data } = settings;
  if (path !== undefined && data !== undefined) {
    lines.push(`${pathName}: is set, and ${dataName} too; give one of them`);
    return undefined;
  }
  let pem = data;
  if (path !== undefined) {
    try {
      pem = new Secret(readFileSync(path, 'utf8'));
    } catch (error) {
      lines.push(
        `${pathName}: ${(error as NodeJS.ErrnoException).code ?? 'error'} reading the file; give the path of ${form}`,
      );
      return undefined;
    }
  }
  if (pem === undefined) return undefined;
  try {
    return { pem, parsed: parse(pem.reveal()) };
  } catch {
    lines.push(`${path === undefined ? dataName : pathName}: has something else; give ${form}`);
    return undefined;
  }
}

/** How to connect to Temporal. */
export interface TemporalConfig {
  /** host:port */
  address: string;
  namespace: string;
  /** Of ended workflows, ms. */
  retention: number;
  tls: TemporalTls | false;
  apiKey: Secret | undefined;
}

/** The connection settings for Temporal at `address`. @throws ConfigError */
export function temporalAt(address: string, read: Environment): TemporalConfig {
  const lines: string[] = [];
  const temporal = temporalFrom(address, read, lines);
  if (lines.length > 0) throw new ConfigError(lines);
  return temporal;
}

/** Like `temporalAt`. Validation errors are added to `lines`. */
export function temporalFrom(address: string, read: Environment, lines: string[]): TemporalConfig {
  const { TEMPORAL_NAMESPACE: namespace, TEMPORAL_RETENTION: retention, TEMPORAL_API_KEY: apiKey } = read;
  return { address, namespace, retention, tls: readTls(read, lines), apiKey };
}
