import { hostname, userInfo } from 'node:os';

/** The operator that acts: a person at a command line, or a client with the scope `operator`. */
export type Actor = `cli:${string}` | `client:${string}`;

/** The person at this command line; under `sudo`, the user who ran `sudo`. */
export function personHere(env: NodeJS.ProcessEnv = process.env): Actor {
  return `cli:${env.SUDO_USER || userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user in a container may have a number but no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
