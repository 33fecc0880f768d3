import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Envelope } from '../../src/events/envelope.ts';
import { recordTrajectories } from './trajectories.ts';

/** What clients send in a round: each a run of its own, tree after tree, over a connection of its own. */
export interface Sending {
  readonly name: string;
  readonly clients: number;
  /** Of each client: groups of 8 rollouts of 20 steps. */
  readonly trees: number;
  /** The most bytes of a request, those of the Python client. */
  readonly requestBytes: number;
}

export const STEPS_PER_TREE = 160;

/** Clients in a process of their own, so that what they spend is not the server's time. */
export interface Clients {
  /** Makes the requests of a round and sends those that open its runs. */
  open(sending: Sending): Promise<void>;
  /** Sends all others, and resolves when the last is answered. */
  send(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the process of the clients of a server. */
export async function startClients(url: string, key: string): Promise<Clients> {
  const child = fork(fileURLToPath(import.meta.url), ['clients', url, key], { execArgv: ['--import', 'tsx'] });
  await answerOf(child);
  const ask = async (asked: Sending | 'send'): Promise<void> => {
    child.send(asked);
    await answerOf(child);
  };
  return {
    open: ask,
    send: () => ask('send'),
    async close() {
      child.disconnect();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function answerOf(child: ChildProcess): Promise<void> {
  const answered = new AbortController();
  const { signal } = answered;
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the clients ended with ${code}`);
  });
  await Promise.race([once(child, 'message', { signal }), ended]).finally(() => answered.abort());
}

/** The events of each client: first what opens its run. A key derives ids by rules of its own; here they are drawn ones. */
export function eventsOf({ name, clients, trees }: Omit<Sending, 'requestBytes'>): readonly (readonly Envelope[])[] {
  const shape = { trees, rollouts: 8, steps: STEPS_PER_TREE / 8 };
  return Array.from({ length: clients }, (_, i) => {
    const events = JSON.stringify(recordTrajectories({ ...shape, name: `${name} client ${i}` }));
    return JSON.parse(events.replace(DERIVED, '$14')) as readonly Envelope[]; // as they were, but for a digit of their ids
  });
}
const DERIVED = /\b([0-9a-f]{8}-[0-9a-f]{4}-)8/g;

/** Joins events to bodies of NDJSON within so many bytes. */
function bodiesOf(events: readonly Envelope[], requestBytes: number): readonly Buffer[] {
  const bodies: Buffer[] = [];
  let [lines, size]: [string[], number] = [[], 0];
  for (const line of events.map((event) => `${JSON.stringify(event)}\n`)) {
    if (size + line.length > requestBytes && lines.length > 0) {
      bodies.push(Buffer.from(lines.join('')));
      [lines, size] = [[], 0];
    }
    lines.push(line);
    size += line.length; // of ASCII
  }
  return [...bodies, Buffer.from(lines.join(''))];
}

if (process.argv[2] === 'clients') serve(process.argv[3] ?? '', process.argv[4] ?? '');

function serve(url: string, key: string): void {
  let agent = new Agent();
  let waiting: readonly (readonly Buffer[])[] = [];
  process.on('message', (asked: Sending | 'send') => {
    void answer(asked).then(() => process.send?.('done'));
  });
  process.send?.('started');

  async function answer(asked: Sending | 'send'): Promise<void> {
    agent.destroy(); // the server closes connections that rest between two rounds
    agent = new Agent({ keepAlive: true });
    if (asked === 'send') {
      await Promise.all(waiting.map(postAll));
      return;
    }
    const clients = eventsOf(asked);
    await Promise.all(clients.map(([run]) => postAll(bodiesOf(run ? [run] : [], 1))));
    waiting = clients.map(([, ...events]) => bodiesOf(events, asked.requestBytes));
  }

  async function postAll(bodies: readonly Buffer[]): Promise<void> {
    for (const body of bodies) await post(body);
  }

  function post(body: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/x-ndjson',
        'content-length': body.byteLength,
      };
      const asking = request(`${url}/v1/events`, { method: 'POST', agent, headers }, (answered) => {
        text(answered).then((said) => {
          if (answered.statusCode === 200) resolve();
          else reject(new Error(`${answered.statusCode} ${said.slice(0, 500)}`));
        }, reject);
      });
      asking.on('error', reject);
      asking.end(body);
    });
  }
}
