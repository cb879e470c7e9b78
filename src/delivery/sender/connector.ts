import { connect, isIP, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { buildConnector, errors } from 'undici';
import { within } from '../../platform/deadline.js';
import { type AddressGuard, inOrder } from './address-guard.js';
import {
  ConnectFailure,
  detailOfTls,
  isOwnFault,
  reasonOfExchange,
  reasonOfTcp,
  reasonOfTls,
} from './attempt-error.js';
import type { Resolve } from './resolver.js';
import { limitHandshake, limitResponses } from './response-meter.js';

export interface ConnectorOptions {
  guard: AddressGuard;
  resolve: Resolve;
  /** Limit for look-up, TCP and TLS together, ms. */
  limitMs: number;
  /** Issuers trusted instead of Node's default ones, PEM. */
  caCertificates?: string | undefined;
}

/** Addresses of a name that are tried at most: a name may have a hundred. */
const MAX_ADDRESSES_TRIED = 4;

/**
 * Creates the connector that opens connections to receivers. It resolves the name itself and connects to the checked
 * address, so that a second look-up cannot give another address (DNS rebinding). If one address of a name is blocked,
 * the whole name is refused, since no honest receiver has such a name. undici's `connect.lookup` does not see literal
 * addresses, and its DNS interceptor bypasses a connector, so neither is used. The connector fails with ConnectFailure,
 * or with this machine's own fault unchanged.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { guard, resolve, limitMs, caCertificates } = options;
  // Given a connected socket, undici's connector only does TLS, with its cache of sessions. The time limit is set here.
  const upgrade = buildConnector({
    timeout: 0,
    rejectUnauthorized: true,
    // Deliveries are HTTP/1.1: `limitResponses` reads its bytes.
    allowH2: false,
    ...(caCertificates && { ca: caCertificates }),
  });

  async function addressesOf(hostname: string): Promise<readonly string[]> {
    const addresses =
      isIP(hostname) === 0 ? await within(limitMs, resolve(hostname), () => new ConnectFailure('dns')) : [hostname];
    if (addresses.some((address) => guard.blocks(address))) throw new ConnectFailure('blocked_address');
    return inOrder(addresses).slice(0, MAX_ADDRESSES_TRIED);
  }

  async function open(target: buildConnector.Options): Promise<Socket> {
    const deadline = performance.now() + limitMs;
    const addresses = await addressesOf(target.hostname);
    const secure = target.protocol === 'https:';
    const port = Number(target.port) || (secure ? 443 : 80);
    const socket = await dialFirst(addresses, port, deadline);
    if (guard.blocks(socket.remoteAddress ?? '')) {
      socket.destroy();
      throw new ConnectFailure('blocked_address');
    }
    const connection = secure ? await shakeHands(socket, target, deadline) : socket;
    limitResponses(connection, socket);
    resetOnAbort(connection, socket);
    await staysSilent(connection);
    return connection;
  }

  function shakeHands(socket: Socket, target: buildConnector.Options, deadline: number): Promise<Socket> {
    // RFC 6066, section 3: a server name has no final dot. Servers reject one, and certificates have none.
    const servername = isIP(target.hostname) === 0 ? target.hostname.replace(/\.$/, '') : undefined;
    let done = () => {};
    const secured = new Promise<Socket>((resolve, reject) => {
      done = limitHandshake(socket, () =>
        reject(new ConnectFailure('tls', 'The TLS handshake is longer than 256 KiB.')),
      );
      upgrade({ ...target, ...(servername && { servername }), httpSocket: socket }, (error, tlsSocket) => {
        if (tlsSocket) resolve(tlsSocket);
        else reject(new ConnectFailure(reasonOfTls(error), detailOfTls(error)));
      });
    });
    return within(deadline - performance.now(), secured, () => new ConnectFailure('timeout'))
      .catch((error) => {
        socket.destroy();
        throw error;
      })
      .finally(done);
  }

  return (target, callback) => {
    open(target).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

/**
 * Resets the connection of a request that is aborted because its time has ended. undici closes it only, after which the
 * kernel repeats bytes that have not been acknowledged: a receiver that the network had cut off would get a request
 * long after its attempt was recorded as `timeout`, and again by the next attempt.
 * @param socket below the TLS of `connection`, or the same
 */
function resetOnAbort(connection: Socket, socket: Socket): void {
  let isAborted = false;
  const destroySocket = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (!isAborted || socket.destroyed) return destroySocket(error);
    // `resetAndDestroy` calls `destroy` without the error. undici takes a connection that closes without one for the
    // end of the response, and throws, since the request is aborted.
    socket.destroy = () => destroySocket(error);
    return socket.resetAndDestroy();
  };
  // TLS itself destroys the socket below. A reset before that would close the connection before it emits its error.
  const destroy = connection.destroy.bind(connection);
  connection.destroy = (error) => {
    isAborted ||= error instanceof errors.InformationalError && error.message === 'aborted';
    return destroy(error);
  };
}

/**
 * Waits for a turn of the event loop, which reads what has already arrived. Bytes that a receiver sends before the
 * request are no response to it.
 * @throws ConnectFailure if something has arrived, or the connection has ended
 */
async function staysSilent(socket: Socket): Promise<void> {
  // The first turn ends the present one, the second polls the socket.
  await turn();
  await turn();
  const early = socket.readableLength > 0;
  if (!early && !socket.readableEnded && !socket.destroyed) return;
  socket.destroy();
  if (early) throw new ConnectFailure('protocol', 'The receiver sent bytes before it had the request.');
  throw new ConnectFailure(socket.errored ? reasonOfExchange(socket.errored) : 'reset');
}

/** Tries the addresses in turn, each with its share of the time left. @throws the failure of the first address */
async function dialFirst(addresses: readonly string[], port: number, deadline: number): Promise<Socket> {
  let failure: Error | undefined;
  for (const [tried, address] of addresses.entries()) {
    const share = (deadline - performance.now()) / (addresses.length - tried);
    try {
      return await dial(address, port, share);
    } catch (error) {
      if (!(error instanceof ConnectFailure)) throw error;
      failure ??= error;
    }
  }
  throw failure ?? new ConnectFailure('dns');
}

function dial(address: string, port: number, limitMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
    const timer = setTimeout(() => socket.destroy(new ConnectFailure('timeout')), Math.max(limitMs, 0));
    socket.once('connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    // This listener stays: an error of a socket that is handed from one owner to the next must not end the process.
    socket.on('error', (error) => {
      clearTimeout(timer);
      const known = error instanceof ConnectFailure || isOwnFault(error);
      reject(known ? error : new ConnectFailure(reasonOfTcp(error)));
    });
  });
}
