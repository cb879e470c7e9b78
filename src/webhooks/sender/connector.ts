import { connect, isIP, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { AttemptError } from '../../attempts.js';
import type { AddressGuard } from './address-guard.js';
import { ConnectFailure, isOwnFault, reasonOfTcp, reasonOfTls } from './attempt-error.js';
import { limitResponses } from './limit-responses.js';
import type { Resolve } from './resolver.js';

export interface ConnectorOptions {
  guard: AddressGuard;
  resolve: Resolve;
  /** For look-up, TCP and TLS together, ms. */
  limitMs: number;
  /** Issuers trusted instead of Node's own, PEM. */
  caCertificates?: string | undefined;
}

/** A name with a hundred addresses is no reason to try them all. */
const MOST_TRIED = 4;

/**
 * How a connection to a receiver is made. It resolves the name itself and connects to the very address it judged, so that
 * a second look-up cannot give another (DNS rebinding); a name of which one address is blocked is refused whole, since
 * such a name is no honest mistake. undici's `connect.lookup` would not see literal addresses, and its DNS interceptor
 * goes around a connector: neither is used. Fails with ConnectFailure, or with a fault of this machine as it is.
 */
export function createConnector(options: ConnectorOptions): buildConnector.connector {
  const { guard, resolve, limitMs, caCertificates } = options;
  // Given a connected socket, undici's connector does the TLS alone, with its cache of sessions; the limits are ours.
  const upgrade = buildConnector({
    timeout: 0,
    rejectUnauthorized: true,
    ...(caCertificates && { ca: caCertificates }),
  });

  async function addressesOf(hostname: string): Promise<readonly string[]> {
    const addresses = isIP(hostname) === 0 ? await within(limitMs, 'dns', resolve(hostname)) : [hostname];
    if (addresses.some((address) => guard.blocks(address))) throw new ConnectFailure('blocked_address');
    return addresses.slice(0, MOST_TRIED);
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
    limitResponses(connection);
    return connection;
  }

  function shakeHands(socket: Socket, target: buildConnector.Options, deadline: number): Promise<Socket> {
    const secured = new Promise<Socket>((resolve, reject) => {
      upgrade({ ...target, httpSocket: socket }, (error, tlsSocket) => {
        if (tlsSocket) resolve(tlsSocket);
        else reject(new ConnectFailure(reasonOfTls(error)));
      });
    });
    return within(deadline - performance.now(), 'timeout', secured).catch((error) => {
      socket.destroy();
      throw error;
    });
  }

  return (target, callback) => {
    open(target).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

/** Tries one address after the other, each with its share of the time left. Tells the first one's failure. */
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
    // Stays: a socket between two owners must not take the process down.
    socket.on('error', (error) => {
      clearTimeout(timer);
      const known = error instanceof ConnectFailure || isOwnFault(error);
      reject(known ? error : new ConnectFailure(reasonOfTcp(error)));
    });
  });
}

/** The promise's result, or a ConnectFailure for `reason` if it takes longer. */
function within<T>(limitMs: number, reason: AttemptError, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectFailure(reason)), Math.max(limitMs, 0));
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
