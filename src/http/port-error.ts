import { ConfigError } from '../config.js';

/** What the system says of a port, as a line about the setting that named it. */
export function inSettingsWords(
  setting: 'PORT' | 'METRICS_PORT',
  { host, port }: { host: string; port: number },
): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code === 'EADDRINUSE')
      throw new ConfigError([`${setting}: ${port} is in use; give another, or 0 for a free one`]);
    if (error.code === 'EACCES')
      throw new ConfigError([`${setting}: ${port} may not be used by this user; give one above 1023`]);
    if (error.code === 'EADDRNOTAVAIL') throw new ConfigError([`HOST: ${host} is no address of this machine`]);
    throw error;
  };
}
