import {
  Client,
  Connection,
  isGrpcDeadlineError,
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
 * A client that asks for Temporal's state. It connects on first use and does not retry: the SDK retries on a timer,
 * which would throw an uncaught error after the connection was closed. An idle connection does not keep the process
 * alive.
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

/** Time for the try, ms. */
const LIMIT = 5_000;

/**
 * Why no connection to Temporal can be made, in one line: what gRPC says at one more try, and the variables to look at.
 */
export async function whyUnreachable(temporal: TemporalConfig): Promise<string> {
  const { address } = temporal;
  // A pool of its own: in the service's, which has tried to connect before, it would wait for the next try.
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1 };
  const connection = Connection.lazy({ ...connectionOptions(temporal), channelArgs, interceptors: [] });
  try {
    await connection.withDeadline(Date.now() + LIMIT, () => connection.workflowService.getSystemInfo({}));
    return `Temporal at ${address} responds, but refuses; look at TEMPORAL_API_KEY and TEMPORAL_NAMESPACE`;
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    const { details } = error;
    const reason = isGrpcDeadlineError(error) ? 'no response' : details.replace(AROUND_REASON, '');
    return `Temporal cannot be reached at ${address} (${reason}); look at TEMPORAL_ADDRESS and the TEMPORAL_TLS settings`;
  } finally {
    await connection.close();
  }
}

/** What gRPC writes around the reason: a sentence before it, the time and further lines after it. */
const AROUND_REASON = /^.*Last error: (Error[^:]*: )?|( \(20\d\d-|\. Resolution note|\n).*$/gs;

/** Codes of gRPC. */
const INVALID_ARGUMENT = 3;
const [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED] = [7, 12, 16];

function codeOf(fault: unknown): number | undefined {
  const cause = fault instanceof ServiceError ? fault.cause : fault;
  return isGrpcServiceError(cause) ? cause.code : undefined;
}

/** Whether Temporal refused the input of one request. It may still accept others. */
export const isRefusedInput = (fault: unknown): boolean => codeOf(fault) === INVALID_ARGUMENT;

const NOT_ALLOWED: readonly unknown[] = [PERMISSION_DENIED, UNIMPLEMENTED, UNAUTHENTICATED];

/** Whether Temporal lets this caller make no such request: Temporal Cloud, or a server with authorization. */
export const isNotAllowed = (fault: unknown): boolean => NOT_ALLOWED.includes(codeOf(fault));
