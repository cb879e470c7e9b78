import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

/**
 * Looks names up in a hosts file, which `dns.Resolver` does not read. The file is read again when it changes. An
 * unreadable file counts as empty.
 * @returns a function that gives the addresses of a lower-case name; none if the file does not have it
 */
export function createHostsFile(path = '/etc/hosts'): (name: string) => readonly string[] {
  let readAt = Number.NaN;
  let entries = new Map<string, string[]>();
  return (name) => {
    try {
      const changedAt = statSync(path).mtimeMs;
      if (changedAt !== readAt) {
        entries = parseHosts(readFileSync(path, 'utf8'));
        readAt = changedAt;
      }
    } catch {
      entries = new Map();
      readAt = Number.NaN;
    }
    return entries.get(name) ?? [];
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const entries = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address || isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      entries.set(key, [...(entries.get(key) ?? []), address]);
    }
  }
  return entries;
}
