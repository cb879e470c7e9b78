import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import {
  Client,
  Connection,
  isGrpcServiceError,
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client';
import { type Environment, type TemporalConfig, type TemporalTls, temporalAt } from '../platform/config/config.js';
import { ConfigError } from '../platform/config/config-error.js';

/** The options of every connection to Temporal: of the SDK's client and of its worker. */
export function connectionOptions({ address, tls, apiKey }: Omit<TemporalConfig, 'namespace' | 'retention'>) {
  return { address, ...(tls && { tls: tlsOptions(tls) }), ...(apiKey && { apiKey: apiKey.reveal() }) };
}

function tlsOptions({ serverName, serverCa, client }: TemporalTls) {
  return {
    ...(serverName !== undefined && { serverNameOverride: serverName }),
    ...(serverCa && { serverRootCACertificate: Buffer.from(serverCa.reveal()) }),
    ...(client && {
      clientCertPair: { crt: Buffer.from(client.certificate.reveal()), key: Buffer.from(client.key.reveal()) },
    }),
  };
}

/** A connection for one command. @throws Error of one line that says what is wrong */
export async function connectOnce(temporal: TemporalConfig): Promise<Connection> {
  try {
    return await Connection.connect({ ...connectionOptions(temporal), connectTimeout: '5s' });
  } catch (error) {
    throw new Error(await whyUnreachable(temporal), { cause: error });
  }
}

/** After an outage of Temporal gRPC would otherwise connect again only up to two minutes later. */
const RECONNECT = { 'grpc.max_reconnect_backoff_ms': 5_000 };

/**
 * A client that asks for Temporal's state. It connects on first use and does not retry: the SDK retries on a timer, which
 * would throw an uncaught error after the connection was closed. An idle connection does not keep the process alive.
 */
export function probeClient(temporal: TemporalConfig): Client {
  const connection = Connection.lazy({ ...connectionOptions(temporal), channelArgs: RECONNECT, interceptors: [] });
  return new Client({ connection, namespace: temporal.namespace });
}

const NOT_FOUND = 5;

/** Whether Temporal has responded that the namespace does not exist. */
export const isNamespaceMissing = (error: unknown): boolean => (error as { code?: unknown }).code === NOT_FOUND;

/** Reads the namespace, for at most `timeout` ms. @returns `ok`, or a short reason why Temporal cannot be used */
export async function temporalState(client: Client, namespace: string, timeout = 2_000): Promise<string> {
  try {
    await client.connection.withDeadline(Date.now() + timeout, () =>
      client.connection.workflowService.describeNamespace({ namespace }),
    );
    return 'ok';
  } catch (error) {
    return isNamespaceMissing(error) ? `no namespace ${namespace}` : 'unreachable';
  }
}

/**
 * Opens a Temporal client for a process that is neither API nor worker: an operator's command.
 * @throws ConfigError, Error of one line: Temporal cannot be reached
 */
export async function withTemporal<T>(environment: Environment, work: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address } = environment;
  if (!address) throw new ConfigError(['TEMPORAL_ADDRESS: is not set; give host:port, such as temporal.internal:7233']);
  const temporal = temporalAt(address, environment);
  const connection = await connectOnce(temporal);
  try {
    return await work(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

/** Time limit of one start, ms, so that a hanging Temporal does not hold up the others. */
const START_LIMIT = 10_000;

/** Starts a workflow, unless it runs already or has run and may not run again. */
export async function startUnlessRunning(client: Client, start: () => Promise<unknown>): Promise<void> {
  try {
    await client.connection.withDeadline(Date.now() + START_LIMIT, start);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Time for the look, ms. */
const LIMIT = 3_000;
/** TLS 1.3 has no answer to the client's certificate: a server that refuses it closes the connection after this, ms. */
const REFUSES_WITHIN = 500;

type Target = Pick<TemporalConfig, 'address' | 'tls'>;

/**
 * Finds out why no connection to Temporal can be made, in one line: gRPC's own errors rarely say it. It connects once
 * more, by TCP and TLS alone. @returns what is wrong, and the variable to look at
 */
export async function whyUnreachable(temporal: Target): Promise<string> {
  const { address, tls } = temporal;
  const refused = await faultOf(() => connectTcp(endOf(address)), 'connect');
  if (refused) return `Temporal cannot be reached at ${address} (${refused.code}); look at TEMPORAL_ADDRESS`;
  const fault = await faultOf(() => handshake(temporal), 'secureConnect');
  if (!tls) {
    return isPlaintext(fault)
      ? `Temporal accepts connections at ${address}, and does not respond`
      : `Temporal at ${address} speaks TLS; set TEMPORAL_TLS=true`;
  }
  return `Temporal at ${address}: ${explainTls(fault, tls)}`;
}

/** The server's certificate is not verified for a plaintext connection: the question is only whether it has one. */
function handshake({ address, tls }: Target): TLSSocket {
  const { host, port } = endOf(address);
  if (!tls) return connectTls({ host, port, rejectUnauthorized: false });
  return connectTls({
    ...{ host, port, ALPNProtocols: ['h2'] },
    ...(tls.serverName !== undefined && { servername: tls.serverName }),
    ...(tls.serverCa && { ca: tls.serverCa.reveal() }),
    ...(tls.client && { cert: tls.client.certificate.reveal(), key: tls.client.key.reveal() }),
  });
}

function endOf(address: string): { host: string; port: number } {
  const { hostname, port } = new URL(`http://${address}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 7233 };
}

interface Fault {
  code: string;
  /** Whether the connection was made before. */
  late: boolean;
}

/** The error of a connection, also soon after it was made; undefined: it stands. */
function faultOf(open: () => Socket, made: string): Promise<Fault | undefined> {
  return new Promise((resolve) => {
    const socket = open();
    let late = false;
    const end = (code?: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(code === undefined ? undefined : { code, late });
    };
    let timer = setTimeout(end, LIMIT, 'ETIMEDOUT');
    socket.once(made, () => {
      late = true;
      clearTimeout(timer);
      timer = setTimeout(end, made === 'secureConnect' ? REFUSES_WITHIN : 0);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.name));
    socket.once('close', () => end('ECONNRESET'));
  });
}

/** Whether the server responds to the handshake in plaintext, closes the connection, or is silent. */
const isPlaintext = (fault: Fault | undefined): boolean =>
  fault !== undefined &&
  !fault.late &&
  /WRONG_VERSION_NUMBER|PACKET_LENGTH|UNEXPECTED_MESSAGE|ETIMEDOUT|ECONNRESET/.test(fault.code);

function explainTls(fault: Fault | undefined, tls: Exclude<Target['tls'], false>): string {
  if (!fault) return 'TLS works, but Temporal refuses; look at TEMPORAL_API_KEY and TEMPORAL_NAMESPACE';
  const { code } = fault;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is for another name${tls.serverName ? ` than ${tls.serverName}` : ''}; look at TEMPORAL_TLS_SERVER_NAME`;
  }
  if (/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/.test(code)) return 'its certificate has expired, or is not valid yet';
  if (/LEAF_SIGNATURE|SELF_SIGNED|ISSUER_CERT|CERT_UNTRUSTED|CERT_SIGNATURE/.test(code)) {
    return `its certificate is of a CA that is not ${tls.serverCa ? 'the configured one' : 'known here'}; look at TEMPORAL_TLS_SERVER_CA_CERT_PATH`;
  }
  if (isPlaintext(fault)) return 'it does not speak TLS; look at TEMPORAL_TLS';
  if (/ALERT|ECONNRESET|EPIPE/.test(code)) {
    return `it ${tls.client ? 'refuses the client certificate' : 'wants a client certificate'}; look at TEMPORAL_TLS_CLIENT_CERT_PATH`;
  }
  return `TLS fails (${code})`;
}

/** Codes of gRPC. */
const INVALID_ARGUMENT = 3;
const [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED] = [7, 12, 16];

function codeOf(fault: unknown): number | undefined {
  const cause = fault instanceof ServiceError ? fault.cause : fault;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}

/** Whether Temporal refused the input of one request. It may still accept others. */
export const isRefusedInput = (fault: unknown): boolean => codeOf(fault) === INVALID_ARGUMENT;

/** Whether Temporal lets this caller make no such request: Temporal Cloud, or a server with authorization. */
export function isNotAllowed(fault: unknown): boolean {
  const code = codeOf(fault);
  return code === PERMISSION_DENIED || code === UNIMPLEMENTED || code === UNAUTHENTICATED;
}
