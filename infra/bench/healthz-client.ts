import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../../src/testing/local-token.ts';

/** What is asked while others ask for as much as is allowed. */
export interface Probe {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Sent one after the other; null sends none. */
  readonly bodies: readonly (string | null)[];
}
export interface Load {
  readonly url: string;
  /** The API key of the probes; who asks for much shows none. */
  readonly key: string;
  readonly probes: readonly Probe[];
  /** GraphQL requests that are repeated without end, each on a connection of its own. */
  readonly queries: readonly string[];
  readonly subscription: string;
  readonly subscriptions: number;
}
export interface Loaded {
  /** Milliseconds of each probe, without the load and under it. */
  readonly idle: Readonly<Record<string, readonly number[]>>;
  readonly loaded: Readonly<Record<string, readonly number[]>>;
  readonly queries: {
    readonly answered: number;
    readonly refused: number;
    readonly bytes: number;
    readonly milliseconds: readonly number[];
  };
  readonly subscriptions: { readonly open: number; readonly refused: number };
}

/** Puts a server under load and asks it meanwhile, from a process of its own: what clients spend is not the server's time. */
export async function loadFromOutside(load: Load): Promise<Loaded> {
  const child = fork(fileURLToPath(import.meta.url), ['load'], { execArgv: ['--import', 'tsx'] });
  const answer = new Promise<Loaded>((resolve, reject) => {
    child.once('message', (loaded) => resolve(loaded as Loaded)); // sent by `main` below
    child.once('exit', (code) => reject(new Error(`the client ended with ${code} and without an answer`)));
  });
  child.send(load);
  const loaded = await answer;
  if (child.exitCode === null) await once(child, 'exit');
  return loaded;
}

if (process.argv[2] === 'load') process.once('message', (load) => void main(load as Load)); // sent by `loadFromOutside`

async function main({ url, key, probes, queries, subscription, subscriptions }: Load): Promise<void> {
  const idle = await askAll(url, key, probes, 0);
  const counts = { answered: 0, refused: 0, bytes: 0, milliseconds: [] as number[] };
  let over = false;
  const asking = queries.map(async (body) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!over) {
      const began = performance.now();
      const answer = await ask(agent, `${url}/graphql`, 'POST', body).then(text, () => ''); // one that is cut off is none
      if (over) break;
      counts.milliseconds.push(performance.now() - began);
      if (answer.startsWith('{"data":')) counts.answered++;
      else counts.refused++;
      counts.bytes += answer.length;
    }
    agent.destroy();
  });
  const followers = new Agent({ keepAlive: true, maxSockets: subscriptions });
  const followed = { open: subscriptions, refused: 0 };
  for (let i = 0; i < subscriptions; i++)
    void ask(followers, `${url}/graphql`, 'POST', subscription, { accept: 'text/event-stream' })
      .then((answer) => text(answer))
      .then(
        () => {
          followed.open--;
          followed.refused++;
        },
        () => undefined,
      );
  const loaded = await askAll(url, key, probes, 1);
  over = true;
  const subscribed = { ...followed };
  followers.destroy();
  const report = { idle, loaded, queries: counts, subscriptions: subscribed } satisfies Loaded;
  process.send?.(report, () => process.exit(0)); // what is still asked is not waited for
  await Promise.all(asking);
}

/** Asks the probes in turn. @param half which half of the bodies: each is sent once. */
async function askAll(url: string, key: string, probes: readonly Probe[], half: 0 | 1): Promise<Record<string, number[]>> {
  const milliseconds: Record<string, number[]> = Object.fromEntries(probes.map(({ name }) => [name, []]));
  const agent = new Agent({ keepAlive: true });
  const rounds = Math.floor(Math.min(...probes.map(({ bodies }) => bodies.length)) / 2);
  for (let round = half * rounds; round < (half + 1) * rounds; round++)
    for (const { name, method, path, bodies } of probes) {
      const began = performance.now();
      const answer = await ask(agent, url + path, method, bodies[round] ?? null, { authorization: `Bearer ${key}` });
      const said = await text(answer);
      if ((answer.statusCode ?? 500) >= 300 || said.startsWith('{"errors"'))
        throw new Error(`${name} was answered ${answer.statusCode}: ${said.slice(0, 300)}`);
      milliseconds[name]?.push(performance.now() - began);
    }
  agent.destroy();
  return milliseconds;
}

function ask(agent: Agent, url: string, method: string, body: string | null, more: Headers = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length = body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asking = request(
      url,
      { method, agent, headers: { ...LOCAL, accept: 'application/json', ...length, ...more } },
      resolve,
    );
    asking.on('error', reject);
    asking.end(body ?? undefined);
  });
}
type Headers = Readonly<Record<string, string>>;
