import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface ClientRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Work {
  /** Each is sent on a connection of its own, one request after the other, all lanes at the same time. */
  readonly lanes: readonly (readonly ClientRequest[])[];
  /** Sent on a connection each until the lanes are done, `repeated` again and again. */
  readonly background?: readonly (ClientRequest & { readonly repeated: boolean })[];
}

export interface WorkDone {
  /** From each request to the end of its answer, by lane. */
  readonly milliseconds: readonly (readonly number[])[];
  /** Size of the last answer. */
  readonly bytes: number;
  readonly background: { readonly answered: number; readonly refused: number };
}

/** HTTP clients in a process of their own, so that what they spend is not the server's time. */
export interface Clients {
  /** Hands work over, which `run` begins. */
  prepare(work: Work): Promise<void>;
  /** @throws Error when a request of a lane is refused. */
  run(): Promise<WorkDone>;
  close(): Promise<void>;
}

/** Starts the process of the clients of a server. @param headers of every request. */
export async function startClients(url: string, headers: Readonly<Record<string, string>>): Promise<Clients> {
  const child = fork(fileURLToPath(import.meta.url), ['clients', url, JSON.stringify(headers)], {
    execArgv: ['--import', 'tsx'],
  });
  await replyOf(child);
  const ask = (message: Work | 'run'): Promise<unknown> => {
    child.send(message);
    return replyOf(child);
  };
  return {
    prepare: async (work) => void (await ask(work)),
    run: async () => (await ask('run')) as WorkDone, // sent by `serve`
    async close() {
      child.disconnect();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function replyOf(child: ChildProcess): Promise<unknown> {
  const replied = new AbortController(); // or each reply leaves a listener behind
  const { signal } = replied;
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`the clients ended with ${code}`);
  });
  const reply = once(child, 'message', { signal }).then(([message]) => message);
  return Promise.race([reply, ended]).finally(() => replied.abort());
}

if (process.argv[2] === 'clients') serve(process.argv[3] ?? '', JSON.parse(process.argv[4] ?? '{}'));

function serve(url: string, headers: Readonly<Record<string, string>>): void {
  let prepared: Work = { lanes: [] };
  process.on('message', (message: Work | 'run') => {
    if (message === 'run') return void run(prepared).then((done) => process.send?.(done));
    prepared = message;
    process.send?.('prepared');
  });
  process.send?.('started');

  async function run({ lanes, background = [] }: Work): Promise<WorkDone> {
    const agents: Agent[] = [];
    let isOver = false;
    const counts = { answered: 0, refused: 0 };
    const others = background.map(async (sent) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      agents.push(agent);
      do {
        const answer = await send(agent, sent)
          .then(text)
          .catch(() => null); // null: cut off, by the end of the work too
        if (isOver) return;
        if (answer?.startsWith('{"data":')) counts.answered++;
        else counts.refused++;
      } while (sent.repeated);
    });
    let bytes = 0;
    const milliseconds = await Promise.all(
      lanes.map(async (requests) => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        const times: number[] = [];
        for (const each of requests) {
          const began = performance.now();
          bytes = await succeed(agent, each);
          times.push(performance.now() - began);
        }
        agent.destroy();
        return times;
      }),
    );
    const done = { milliseconds, bytes, background: { ...counts } };
    isOver = true;
    for (const agent of agents) agent.destroy();
    await Promise.all(others);
    return done;
  }

  /** Reads the answer to its end, without parsing it. @throws Error when it is a refusal. */
  async function succeed(agent: Agent, sent: ClientRequest): Promise<number> {
    const answer = await send(agent, sent);
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece);
    const body = Buffer.concat(pieces);
    if ((answer.statusCode ?? 500) < 300 && body.subarray(0, 9).toString() !== '{"errors"') return body.byteLength;
    throw new Error(`${sent.path} was answered ${answer.statusCode}: ${body.subarray(0, 500).toString()}`);
  }

  function send(agent: Agent, { method, path, body, headers: more }: ClientRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sized = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const sending = request(url + path, { method, agent, headers: { ...headers, ...sized, ...more } }, resolve);
      sending.on('error', reject);
      sending.end(body);
    });
  }
}
