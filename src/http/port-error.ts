import { ConfigError } from '../config-error.js';

/** Turns the system's error about a port into a ConfigError that names the setting; rethrows any other error. */
export function toConfigError(
  setting: 'PORT' | 'METRICS_PORT',
  { host, port }: { host: string; port: number },
): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code === 'EADDRINUSE')
      throw new ConfigError([`${setting}: ${port} is in use; set another port, or 0 for a free one`]);
    if (error.code === 'EACCES')
      throw new ConfigError([`${setting}: this user may not bind port ${port}; set a port above 1023`]);
    if (error.code === 'EADDRNOTAVAIL') throw new ConfigError([`HOST: ${host} is not an address of this machine`]);
    throw error;
  };
}
