import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// A healthy receiver in a process of its own: answers 204 and keeps when each event first arrived.

const arrivals = new Map<string, number>();
let repeated = 0;

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: string };
    if (arrivals.has(id)) repeated++;
    else arrivals.set(id, performance.timeOrigin + performance.now());
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

process.on('message', (question: 'count' | 'arrivals' | 'clear') => {
  if (question === 'clear') {
    arrivals.clear();
    repeated = 0;
  }
  process.send?.({ count: arrivals.size, repeated, arrivals: question === 'arrivals' ? [...arrivals] : [] });
});
process.on('disconnect', () => process.exit());
