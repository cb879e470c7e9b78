import { readFileSync } from 'node:fs';

/** Stops a process and its children, like a disk that hangs. @returns a function that lets them continue */
export function freeze(pid: number): () => void {
  process.kill(pid, 'SIGSTOP');
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  const frozen = [pid, ...children.map(Number)];
  for (const one of frozen) process.kill(one, 'SIGSTOP');
  return () => {
    for (const one of frozen) process.kill(one, 'SIGCONT');
  };
}
