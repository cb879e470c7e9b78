import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A process of the bench that ends with this one. */
export interface Helper {
  pid: number;
  /** Asks one question at a time. Rejects if the process fails to answer or ends. */
  ask<Answer>(question: object): Promise<Answer>;
  end(): void;
}

type Message = 'ready' | { answer: unknown } | { error: string };

/** @param file a module in this folder that calls `answerQuestions` */
export async function startHelper(file: string): Promise<Helper> {
  // Shields the process from Ctrl-C: the bench ends it.
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), { detached: true });
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${file} ended by ${signal ?? code}`);
  });
  ended.catch(() => undefined);
  const message = async () => {
    const [said] = (await Promise.race([once(child, 'message'), ended])) as [Message];
    return said;
  };
  await message();
  return {
    pid: child.pid ?? 0,
    async ask<Answer>(question: object) {
      const answered = message();
      child.send(question);
      const said = await answered;
      if (typeof said === 'object' && 'answer' in said) return said.answer as Answer;
      throw new Error(`${file}: ${typeof said === 'object' ? said.error : said}`);
    },
    end: () => child.disconnect(),
  };
}
