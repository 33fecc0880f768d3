import { execFile, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { LOCAL, LOCAL_TOKEN } from '../../src/testing/local-token.ts';
import { readSafetensors } from '../../src/training/rows/safetensors.ts';

export interface Training {
  readonly url: string;
  readonly policyId: string;
  readonly batches: number;
}
export interface TrainedThere {
  /** From asking for the lease to the last token decoded, per batch. */
  readonly seconds: readonly number[];
  readonly samples: number;
  readonly bytes: number;
}

/** Trains from a process of its own by node:http: leases, reads the rows, looks at every token, acknowledges. */
export async function trainFromOutside(training: Training): Promise<TrainedThere> {
  const child = fork(fileURLToPath(import.meta.url), ['train'], { execArgv: ['--import', 'tsx'] });
  const answer = new Promise<TrainedThere>((resolve, reject) => {
    child.once('message', (trained) => resolve(trained as TrainedThere)); // sent by `main` below
    child.once('exit', (code) => reject(new Error(`the trainer ended with ${code} and without an answer`)));
  });
  child.send(training);
  const trained = await answer;
  if (child.exitCode === null) await once(child, 'exit');
  return trained;
}

/**
 * Trains by the Python client, the one that users have, with the standard library alone.
 * @param trainMs how long training takes between the rows and the acknowledgement.
 */
export async function trainInPython(
  { url, policyId, batches }: Training,
  trainMs: number,
): Promise<Pick<TrainedThere, 'seconds' | 'bytes'>> {
  const env = childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ESPALIER_TOKEN: LOCAL_TOKEN });
  const asked = [
    fileURLToPath(new URL('./leases_client.py', import.meta.url)),
    url,
    policyId,
    `${batches}`,
    `${trainMs / 1_000}`,
  ];
  const { stdout } = await promisify(execFile)(readConfig().python ?? 'python3', asked, { env });
  return JSON.parse(stdout) as Pick<TrainedThere, 'seconds' | 'bytes'>; // printed by it
}

// sent by `trainFromOutside`
if (process.argv[2] === 'train') process.once('message', (training) => void main(training as Training));

async function main({ url, policyId, batches }: Training): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const seconds: number[] = [];
  let samples = 0;
  let bytes = 0;
  for (let i = 0; i < batches; i++) {
    const began = performance.now();
    const lease = await post(agent, `${url}/v1/training/leases`, { policyId, consumer: 'bench', ttlMs: 600_000 });
    const body = await readBody(await ask(agent, 'GET', `${url}${lease.rows}`));
    decode(body);
    seconds.push((performance.now() - began) / 1_000);
    samples += lease.samples;
    bytes += body.byteLength;
    const made = { version: lease.base.version + 1, checkpointId: randomUUID(), weights: 'b'.repeat(64), backend: 'bench' };
    await post(agent, `${url}/v1/training/leases/${lease.leaseId}/ack`, { fence: lease.fence, ...made });
  }
  agent.destroy();
  process.send?.({ seconds, samples, bytes } satisfies TrainedThere, () => process.disconnect());
}

/** Looks at every token of every row, as who pads them does. */
export function decode(body: Uint8Array): void {
  const { tensors } = readSafetensors(body);
  const [ids, borders] = [tensors.get('responses')?.data, tensors.get('cu_seqlens')?.data];
  if (!ids || !borders) throw new Error('the body has no tokens');
  let largest = 0;
  for (let row = 0; row + 1 < borders.length; row++)
    for (let at = borders[row] ?? 0; at < (borders[row + 1] ?? 0); at++) largest = Math.max(largest, ids[at] ?? 0);
  if (largest === 0) throw new Error('the body has no tokens');
}

interface Answered {
  readonly leaseId: string;
  readonly fence: number;
  readonly samples: number;
  readonly rows: string;
  readonly base: { readonly version: number };
}
async function post(agent: Agent, url: string, body: unknown): Promise<Answered> {
  const text = Buffer.from(await readBody(await ask(agent, 'POST', url, JSON.stringify(body)))).toString('utf8');
  return JSON.parse(text) as Answered; // the service's own answer
}

/**
 * By node:http and not by `fetch`, which passes every piece through a web stream: 14 MB took 44 ms with it, and 22 without
 * (medians, busy machine).
 */
async function ask(agent: Agent, method: 'GET' | 'POST', url: string, body = ''): Promise<IncomingMessage> {
  const asking = request(url, { agent, method, headers: { 'content-type': 'application/json', ...LOCAL } });
  asking.end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]; // what node:http emits with the event
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode} ${await readBody(answer)}`);
  return answer;
}

/** Reads a body into one buffer of the length that was said. */
async function readBody(answer: IncomingMessage): Promise<Uint8Array> {
  const body = new Uint8Array(Number(answer.headers['content-length']));
  let at = 0;
  answer.on('data', (piece: Uint8Array) => {
    body.set(piece, at);
    at += piece.byteLength;
  });
  await once(answer, 'end');
  return body;
}
