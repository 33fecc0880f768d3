import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ServerName } from '../environments/agentgym/descriptors.ts';
import { type AgentGymKind, openAgentGym } from '../environments/agentgym/open-agentgym.ts';
import type { Opening, StepResult } from '../environments/environment.ts';

/** What a server was asked and answered, and what the environment made of it. */
export interface Transcript {
  readonly server: ServerName;
  /** Which program answered, and when. */
  readonly source: string;
  readonly exchanges: readonly Exchange[];
  readonly episodes: readonly RecordedEpisode[];
  /** A task that the server does not have, and what is said of it. */
  readonly unknown: { readonly alias: string; readonly message: string };
}

export interface Exchange {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly type: string;
  readonly answer: unknown;
}

export interface RecordedEpisode {
  readonly alias: string;
  readonly actions: readonly string[];
  readonly opening: Opening;
  readonly steps: readonly StepResult[];
}

/** Chooses the next action, or ends the episode by null. */
type Chooser = (opening: Opening, steps: readonly StepResult[]) => string | null;

/** Chooses the actions of a list, in order. */
export function again(actions: readonly string[]): Chooser {
  return (_opening, { length }) => actions[length] ?? null;
}

const FOLDER = new URL('../environments/agentgym/fixtures/transcripts/', import.meta.url);

/** Reads a session that was recorded of a server of AgentGym. */
export function readTranscript(server: ServerName): Transcript {
  return JSON.parse(readFileSync(new URL(`${server}.json`, FOLDER), 'utf8'));
}

/** Plays episodes one after another, then asks for a task that there is not; always sends the same requests for equal actions. */
export async function playSession(
  server: ServerName,
  url: string,
  episodes: readonly { readonly alias: string; readonly next: Chooser }[],
  unknownAlias: string,
): Promise<Pick<Transcript, 'episodes' | 'unknown'>> {
  const tasks = [...episodes.map(({ alias }) => alias), unknownAlias];
  const kind = await openAgentGym({ server, url, tasks, timeoutMs: 60_000 });
  try {
    const played: RecordedEpisode[] = [];
    for (const { alias, next } of episodes) played.push(await playEpisode(kind, alias, next));
    const environment = await kind.create();
    const message = await environment.reset({ alias: unknownAlias, seed: 0 }).then(
      () => 'it was opened',
      (error: unknown) => String((error as Error).message).replaceAll(new URL(url).host, 'SERVER'),
    );
    await environment.close();
    return { episodes: played, unknown: { alias: unknownAlias, message } };
  } finally {
    await kind.close();
  }
}

async function playEpisode(kind: AgentGymKind, alias: string, next: Chooser): Promise<RecordedEpisode> {
  const environment = await kind.create();
  try {
    const opening = await environment.reset({ alias, seed: 0 });
    const [steps, actions] = [[] as StepResult[], [] as string[]];
    for (let action = next(opening, steps); action !== null; action = next(opening, steps)) {
      actions.push(action);
      steps.push(await environment.step(action));
    }
    return { alias, actions, opening, steps };
  } finally {
    await environment.close();
  }
}

export interface RecordedServer {
  readonly url: string;
  /** What was asked that the transcript has otherwise, in order. */
  readonly strayed: readonly string[];
  /** How many exchanges of the transcript were not asked for. */
  left(): number;
  close(): Promise<void>;
}

/** Answers as the transcript says, each request in its turn. */
export async function startRecordedServer({ exchanges }: Transcript): Promise<RecordedServer> {
  const left = [...exchanges];
  const strayed: string[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const next = left.shift();
      const [method, path] = [request.method ?? '', request.url ?? ''];
      if (!next || next.method !== method || next.path !== path || !isDeepStrictEqual(next.body, body)) {
        strayed.push(
          `${method} ${path} ${JSON.stringify(body)}, not ${next?.method} ${next?.path} ${JSON.stringify(next?.body)}`,
        );
        response.writeHead(410).end('not in the transcript');
        return;
      }
      const text = typeof next.answer === 'string' && !next.type.includes('json') ? next.answer : JSON.stringify(next.answer);
      response.writeHead(next.status, { 'content-type': next.type }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    strayed,
    left: () => left.length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const text = (await request.toArray()).join('');
  return text === '' ? null : JSON.parse(text);
}
