import { hostname, userInfo } from 'node:os';

/** Who acts as the operator: a person at a command line, or a system with the scope `operator`. */
export type Actor = `cli:${string}` | `client:${string}`;

/** The person at this command line; who called it, where that was by `sudo`. */
export function personHere(env: NodeJS.ProcessEnv = process.env): Actor {
  return `cli:${env.SUDO_USER || userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have a number alone.
    return String(process.getuid?.() ?? 'unknown');
  }
}
