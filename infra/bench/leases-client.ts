import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readSafetensors } from '../../src/training/rows/safetensors.ts';

export interface Training {
  readonly url: string;
  readonly policyId: string;
  readonly batches: number;
  /** How long training takes between the rows and the acknowledgement, ms. */
  readonly trainMs: number;
}
export interface TrainedThere {
  /** From asking for the lease to the last token decoded, per batch. */
  readonly seconds: readonly number[];
  readonly samples: number;
  readonly bytes: number;
}

/** Trains from a process of its own over HTTP, as trainers do: leases, reads and decodes the rows, acknowledges. */
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

if (process.argv[2] === 'train') process.once('message', (training) => void main(training as Training)); // sent by `trainFromOutside`

async function main({ url, policyId, batches, trainMs }: Training): Promise<void> {
  const seconds: number[] = [];
  let samples = 0;
  let bytes = 0;
  for (let i = 0; i < batches; i++) {
    const began = performance.now();
    const lease = await post(`${url}/v1/training/leases`, { policyId, consumer: 'bench', ttlMs: 600_000 });
    const body = new Uint8Array(await (await fetch(`${url}${lease.rows}`)).arrayBuffer());
    decode(body);
    seconds.push((performance.now() - began) / 1_000);
    samples += lease.samples;
    bytes += body.byteLength;
    await delay(trainMs);
    const made = { version: lease.base.version + 1, checkpointId: randomUUID(), weights: 'b'.repeat(64), backend: 'bench' };
    await post(`${url}/v1/training/leases/${lease.leaseId}/ack`, { fence: lease.fence, ...made });
  }
  process.send?.({ seconds, samples, bytes } satisfies TrainedThere, () => process.disconnect());
}

/** Looks at every token of every row, as who pads them does. */
export function decode(body: Uint8Array): void {
  const { tensors } = readSafetensors(body);
  const [ids, borders] = [tensors.get('responses')?.data, tensors.get('cu_seqlens')?.data];
  if (!ids || !borders) throw new Error('the body has no tokens');
  let largest = 0;
  for (let row = 0; row + 1 < borders.length; row++)
    for (const id of ids.subarray(borders[row], borders[row + 1])) if (id > largest) largest = id;
  if (largest === 0) throw new Error('the body has no tokens');
}

interface Answered {
  readonly leaseId: string;
  readonly fence: number;
  readonly samples: number;
  readonly rows: string;
  readonly base: { readonly version: number };
}
async function post(url: string, body: unknown): Promise<Answered> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} answered ${response.status} ${text.slice(0, 300)}`);
  return JSON.parse(text) as Answered; // the desk's own answer
}
