import { Gauge, type Registry } from 'prom-client';

/** Registers gauges whose value is read at each scrape. */
export function readingGauges(registry: Registry) {
  return (name: string, help: string, read: () => number | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  };
}
