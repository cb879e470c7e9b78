import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Config } from '../config.js';
import type { TemporalTls } from '../temporal-tls.js';
import { whyUnreachable } from './why-unreachable.js';

type TemporalConfig = Config['temporal'];

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

/** The worker's connection: a Client on it can start workflows eagerly in the same process. */
export function connectWorker(temporal: TemporalConfig): Promise<NativeConnection> {
  return NativeConnection.connect(connectionOptions(temporal));
}

/** A client for a process without a worker. It connects on first use. */
export function lazyClient(temporal: TemporalConfig): Client {
  return new Client({ connection: Connection.lazy(connectionOptions(temporal)), namespace: temporal.namespace });
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
