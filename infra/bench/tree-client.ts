import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../../src/testing/local-token.ts';

export interface Asking {
  readonly url: string;
  readonly body: string;
  readonly warmUp: number;
  readonly requests: number;
}
export interface Asked {
  readonly milliseconds: readonly number[];
  /** Size of one answer. */
  readonly bytes: number;
}

/** Asks one request after the other from a process of its own, as clients do: what the client spends is not the server's time. */
export async function askFromOutside(asking: Asking): Promise<Asked> {
  const child = fork(fileURLToPath(import.meta.url), ['ask'], { execArgv: ['--import', 'tsx'] });
  const answer = new Promise<Asked>((resolve, reject) => {
    child.once('message', (asked) => resolve(asked as Asked)); // sent by `main` below
    child.once('exit', (code) => reject(new Error(`the client ended with ${code} and without an answer`)));
  });
  child.send(asking);
  const asked = await answer;
  if (child.exitCode === null) await once(child, 'exit');
  return asked;
}

if (process.argv[2] === 'ask') process.once('message', (asking) => void main(asking as Asking)); // sent by `askFromOutside`

async function main({ url, body, warmUp, requests }: Asking): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const milliseconds: number[] = [];
  let bytes = 0;
  for (let i = -warmUp; i < requests; i++) {
    const began = performance.now();
    bytes = await post(agent, url, body);
    if (i >= 0) milliseconds.push(performance.now() - began);
  }
  agent.destroy();
  process.send?.({ milliseconds, bytes } satisfies Asked, () => process.disconnect());
}

/** Posts and reads the answer to its end, without parsing it. @throws when it is no data. */
function post(agent: Agent, url: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...LOCAL };
    const asking = request(url, { method: 'POST', agent, headers }, (response) => {
      let bytes = 0;
      let start: Buffer | undefined;
      response.on('data', (chunk: Buffer) => {
        start ??= chunk;
        bytes += chunk.length;
      });
      response.on('end', () => {
        const answered = response.statusCode === 200 && start?.subarray(0, 8).toString() === '{"data":';
        if (answered) resolve(bytes);
        else reject(new Error(`GraphQL answered ${response.statusCode}: ${start?.subarray(0, 300).toString()}`));
      });
      response.on('error', reject);
    });
    asking.on('error', reject);
    asking.end(body);
  });
}
