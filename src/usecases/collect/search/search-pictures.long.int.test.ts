import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Platform } from '../../../platform/open-platform.ts';
import { environmentOf } from '../../../testing/crashing-run.ts';
import { openTestPlatform } from '../../../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../../../testing/openai-server.ts';
import { type PaintedWorld, paintedWorld } from '../../../testing/painted-world.ts';
import { runInProcess } from '../../../testing/worker-process.ts';

const [OWN, PUBLISHED] = ['55555555-6666-4777-8888-999999999991', '55555555-6666-4777-8888-999999999992'];

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let server: OpenAiServer;
let folder: string;
let world: PaintedWorld;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  const reply = (_: unknown, choice: number) => `Thought: t\nAction: ${choice % 2 === 0 ? 'left' : 'right'}`;
  server = await startOpenAiServer({ reply });
  folder = await mkdtemp(join(tmpdir(), 'espalier-pictures-'));
  world = await paintedWorld(folder);
});
afterAll(async () => {
  await server.close();
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

async function espalier(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args, env);
  if (code !== 0) throw new Error(`espalier ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The pictures of each request: those of its messages, in order. */
function shownSince(start: number): readonly (readonly object[])[] {
  return server.requests.slice(start).map(({ text }) => {
    const { messages } = JSON.parse(text) as { messages: readonly { content: unknown }[] };
    return messages.flatMap(({ content }) =>
      Array.isArray(content) ? content.filter((part: { type: string }) => part.type === 'image_url') : [],
    );
  });
}

const asked = () => ['--policy', `openai:stand-in@${server.url}`, '--environment', world.environment, '--task', '1'];
const search = ['--search', 'mcts', '--iterations', '3', '--candidates', '2', '--max-depth', '2'];

test('a search shows at each node the pictures of the way to it, and what was executed again is compared with them', async () => {
  await espalier('collect', ...asked(), ...search, '--run', OWN);
  const { dot, noise, red } = world;
  const shown = shownSince(0);
  expect(shown[0]).toEqual([dot.part]);
  for (const way of [noise, red]) expect(shown).toContainEqual([dot.part, way.part]);
  expect(await espalier('replay', 'environment', '--run', OWN)).toMatch(/^equal: environment/);
});

test('a revision of a search keeps the pictures of both trajectories in a format that has a place for them', async () => {
  await espalier('revise', '--run', OWN, '--judge', 'direct', '--no-verify');
  const revisions = ['export', '--run', OWN, '--data', 'revisions', '--state', 'composed'];
  const out = join(folder, 'revisions.jsonl');
  await espalier(...revisions, '--format', 'openai', '--context', 'keep', '--out', out);
  const [line = '{}'] = (await readFile(out, 'utf8')).trimEnd().split('\n');
  const { messages } = JSON.parse(line) as { messages: readonly { role: string; content: unknown }[] };
  const { dot, noise, red } = world;
  const users = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  expect(users[0]).toEqual([{ type: 'text', text: 'a dot' }, dot.part]);
  expect(users).toContainEqual([{ type: 'text', text: 'step 1' }, red.part]);
  expect(users).toContainEqual([{ type: 'text', text: 'step 1' }, noise.part]);
  const refused = await runInProcess([...revisions, '--format', 'agent-r', '--out', `${out}.2`], env);
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('shows pictures, which rows of agent-r have no place for'),
  ]);
});

test('a search by the published rules sends the pictures behind the texts of its own prompt', async () => {
  const start = server.requests.length;
  await espalier('collect', ...asked(), ...search, '--compat', 'agent-r', '--run', PUBLISHED);
  const { dot, noise } = world;
  expect(shownSince(start)).toContainEqual([dot.part, noise.part]);
  expect(await espalier('replay', 'environment', '--run', PUBLISHED)).toMatch(/^equal: environment/);
});

test('a fork behind a step with a picture is refused where the environment shows another one on the way', async () => {
  const { stepId } = await platform.database.db
    .selectFrom('pictures')
    .innerJoin('steps', 'steps.stepId', 'pictures.stepId')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select('pictures.stepId')
    .where('runId', '=', OWN)
    .where('imageId', '=', world.noise.id)
    .executeTakeFirstOrThrow();
  const fork = ['replay', 'fork', '--from', stepId, '--policy', `openai:stand-in@${server.url}`];
  expect(await espalier(...fork)).toContain('equal: fork');
  const other = await runInProcess(fork, { ...env, PAINTED: 'other' });
  expect([other.code, other.stdout]).toEqual([1, expect.stringContaining(`[picture ${world.red.id}]`)]);
});
