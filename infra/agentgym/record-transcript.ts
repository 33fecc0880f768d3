import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServerName } from '../../src/environments/agentgym/descriptor.ts';
import type { Opening, StepResult } from '../../src/environments/environment.ts';
import { type Chooser, type Exchange, playSession, readBody, type Transcript } from '../../src/testing/agentgym-transcript.ts';

const HELP = `Plays some episodes on a server of AgentGym's and records every request and answer, for src/environments/agentgym/transcripts.slow.test.ts.

  npx tsx infra/agentgym/record-transcript.ts textcraft|babyai|sciworld URL SOURCE FILE

SOURCE says which program answers, such as "agentenv-textcraft of AgentGym 3ef9235". Start the server for this alone: as published, for example
  cd AgentGym/agentenv-textcraft && python -m uvicorn agentenv_textcraft:app --port 36001     (fastapi, uvicorn, gymnasium, numpy)
`;

/** What is played: actions that are understood, that are not, that fail, and where it is near, the way to the goal. */
const PLANS: Partial<
  Record<ServerName, { readonly aliases: readonly string[]; readonly next: Chooser; readonly unknown: string }>
> = {
  textcraft: { aliases: ['0', '1', '2', '3'], next: nextCraft, unknown: '544' },
  babyai: { aliases: ['0', '1', '9'], next: nextInGrid, unknown: '-41' },
  sciworld: {
    aliases: ['0', '400'],
    next: (_, { length }) => ['look around', 'fly', 'inventory', 'open door to kitchen', 'focus on agent'][length] ?? null,
    unknown: '100000',
  },
};

const [name = '', url, source, file] = process.argv.slice(2);
const plan = PLANS[name as ServerName];
if (!plan || url === undefined || source === undefined || file === undefined) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else {
  const server = name as ServerName; // it has a plan
  const { exchanges, address, close } = await startRecorder(url);
  const episodes = plan.aliases.map((alias) => ({ alias, next: plan.next }));
  const session = await playSession(server, address, episodes, plan.unknown).finally(close);
  const transcript: Transcript = { server, source, ...session, exchanges };
  await writeFile(file, `${JSON.stringify(transcript, null, 1)}\n`);
  process.stdout.write(`${exchanges.length} exchanges in ${file}\n`);
}

/** Passes every request on, and keeps it with its answer. Of `/openapi.json` the names of the routes are kept alone. */
async function startRecorder(target: string) {
  const exchanges: Exchange[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const [method, path, body] = [request.method ?? 'GET', request.url ?? '/', await readBody(request)];
      const sent = body === null ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
      const answered = await fetch(new URL(path, target), { method, ...sent });
      const [type, text] = [answered.headers.get('content-type') ?? '', await answered.text()];
      const read: unknown = type.includes('json') ? JSON.parse(text) : text;
      const answer = path === '/openapi.json' ? { paths: routesIn(read) } : read;
      exchanges.push({ method, path, body, status: answered.status, type, answer });
      response.writeHead(answered.status, { 'content-type': type }).end(type.includes('json') ? JSON.stringify(answer) : text);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return { exchanges, address: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

function routesIn(read: unknown): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.keys((read as { readonly paths: object }).paths).map((route) => [route, {}]));
}

/** Looks, tries what is not understood, gets what the goal's recipe takes, and crafts it. */
function nextCraft({ observation }: Opening, steps: readonly StepResult[]): string | null {
  if (steps.at(-1)?.terminated) return null;
  const goal = /Goal: craft (.*)\./.exec(observation)?.[1] ?? '';
  const recipe =
    observation.split('\n').find((line) => new RegExp(`^craft \\d+ ${goal} using `).test(line)) ?? 'craft 1 a using 1 b';
  const gets = (recipe.split(' using ')[1] ?? '').split(', ').map((part) => `get ${part}`);
  return ['inventory', 'dance', 'get 1 nonsense', recipe, ...gets, recipe][steps.length] ?? null;
}

/** Tries what is not understood, and goes to the red ball, else turns. */
function nextInGrid({ admissibleActions }: Opening, steps: readonly StepResult[]): string | null {
  const last = steps.at(-1);
  if (last?.terminated || steps.length > 7) return null;
  if (steps.length < 2) return ['dance', 'check available actions'][steps.length] ?? null;
  const possible = last?.admissibleActions ?? admissibleActions ?? [];
  return (
    possible.find((action) => action.startsWith('go to red ball')) ??
    possible.find((action) => action === 'move forward') ??
    'turn right'
  );
}
