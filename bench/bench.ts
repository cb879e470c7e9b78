import { type Helper, startHelper } from './helper.js';
import type { Options } from './options.js';
import type { Arrivals, ReceiverQuestion, Responses } from './receiver.js';
import { untilNone } from './waiting.js';

/**
 * The environment of every scenario. Load generator and receiver serve the whole run, so both are warm.
 */
export interface Bench {
  options: Options;
  generator: Helper;
  receiver: Receiver;
  /** Prints a progress line. */
  say(line: string): void;
  stop(): Promise<void>;
}

export interface Receiver {
  pid: number;
  /** `http://host:port` */
  origin: string;
  clear(responses: Responses): Promise<void>;
  /** Responds so from now on. */
  respond(responses: Responses): Promise<void>;
  arrivals(): Promise<Arrivals>;
  /** Resolves when `count` different deliveries have arrived, or after 30 s without a delivery. */
  untilArrived(count: number): Promise<void>;
}

const PATIENCE = 30_000;

export async function startBench(options: Options, say: Bench['say']): Promise<Bench> {
  const [generator, receiver] = await Promise.all([startHelper('./load.js'), startHelper('./receiver.js')]);
  const ask = <Answer = Arrivals>(question: ReceiverQuestion) => receiver.ask<Answer>(question);
  const { port } = await ask<{ port: number }>({ ask: 'port' });
  return {
    options,
    generator,
    receiver: {
      pid: receiver.pid,
      origin: `http://127.0.0.1:${port}`,
      async clear(responses) {
        await ask({ ask: 'clear', responses });
      },
      async respond(responses) {
        await ask({ ask: 'respond', responses });
      },
      arrivals: () => ask({ ask: 'arrivals' }),
      async untilArrived(count) {
        await untilNone(async () => count - (await ask({ ask: 'count' })).count, { every: 20, patience: PATIENCE });
      },
    },
    say,
    async stop() {
      generator.end();
      receiver.end();
    },
  };
}
