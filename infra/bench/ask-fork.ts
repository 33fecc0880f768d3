import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Sends work to a module that runs in a process of its own (`search` is its first argument), and returns what that answers. */
export async function askFork<Answer>(module: string, work: object): Promise<Answer> {
  const child = fork(fileURLToPath(module), ['search'], { execArgv: ['--import', 'tsx'] });
  const answer = new Promise<Answer>((resolve, reject) => {
    child.once('message', (answered) => resolve(answered as Answer)); // by the module itself
    child.once('exit', (code) => reject(new Error(`the search ended with ${code} and without an answer`)));
  });
  child.send(work);
  const answered = await answer;
  if (child.exitCode === null) await once(child, 'exit');
  return answered;
}
