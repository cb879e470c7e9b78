import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { ConfigError } from '../../src/platform/config/config-error.js';
import { choosePort, freePort, LOWEST } from '../../src/platform/free-port.js';

const causeOf = (port: number) =>
  fetch(`http://127.0.0.1:${port}`).then(
    () => undefined,
    (error: Error) => String(error.cause),
  );

it('chooses no port that fetch and browsers block', async () => {
  // The last of the blocked ports, so that all ports above it are called.
  expect(await causeOf(10_080)).toMatch(/bad port/);
  expect(LOWEST).toBeGreaterThan(10_080);
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  expect(Math.min(...ports)).toBeGreaterThanOrEqual(LOWEST);
});

it('never chooses a port twice, although nothing listens there yet', async () => {
  const ports = await Promise.all(Array.from({ length: 1_000 }, freePort));
  expect(new Set(ports).size).toBe(1_000);
});

it('chooses ports from its own eighth, so that processes with successive ids do not collide', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort));
  const size = Math.floor((32_000 - LOWEST) / 8);
  const eighths = ports.map((port) => Math.floor((port - LOWEST) / size));
  expect(new Set(eighths)).toEqual(new Set([process.pid % 8]));
});

it('rejects a port in use, and takes a free one for 0', async () => {
  const server = createServer().listen(await freePort(), '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await expect(choosePort('PORT', port)).rejects.toThrow(ConfigError);
  expect(await choosePort('PORT', 0)).toBeGreaterThanOrEqual(LOWEST);
  await new Promise((resolve) => server.close(resolve));
});
