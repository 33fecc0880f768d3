import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Platform } from '../../platform/open-platform.ts';
import { environmentOf } from '../../testing/crashing-run.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { type PaintedWorld, paintedWorld } from '../../testing/painted-world.ts';
import { runEspalier } from '../../testing/worker-process.ts';

const RUN = '55555555-6666-4777-8888-999999999999';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let server: OpenAiServer;
let folder: string;
let world: PaintedWorld;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  server = await startOpenAiServer({ reply: () => 'look' });
  folder = await mkdtemp(join(tmpdir(), 'espalier-pictures-'));
  world = await paintedWorld(folder);
});
afterAll(async () => {
  await server.close();
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

test('pictures of an environment are shown to the model behind their texts, recorded, replayed and exported', async () => {
  const { environment, dot, noise } = world;
  const asked = ['--policy', `openai:stand-in@${server.url}`, '--environment', environment, '--task', '1', '--rollouts', '1'];
  const collected = await runEspalier(['collect', ...asked, '--run', RUN], env);
  expect([collected.code, collected.stdout]).toEqual([0, expect.stringContaining('completed: 1 rollouts, 2 steps, 1 succeeded')]);

  const sent = JSON.parse(server.requests[1]?.text ?? '{}') as { messages: unknown };
  expect(sent.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'a dot' }, dot.part] },
    { role: 'assistant', content: 'look' },
    { role: 'user', content: [{ type: 'text', text: 'step 1' }, noise.part] },
  ]);

  const held = await platform.database.db
    .selectFrom('pictures')
    .innerJoin('steps', 'steps.stepId', 'pictures.stepId')
    .select(['depth', 'ordinal', 'width', 'imageId', 'png'])
    .orderBy('depth')
    .execute();
  expect(held).toMatchObject([
    { depth: 0, ordinal: 0, width: 1, imageId: dot.id, png: { bytes: expect.any(String) } },
    { depth: 1, ordinal: 0, width: 200, imageId: noise.id, png: { bytes: { blob: expect.stringMatching(/^[0-9a-f]{64}$/) } } },
  ]);

  const again = await runEspalier(['replay', 'environment', '--run', RUN], env);
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^equal: environment/)]);
  const other = await runEspalier(['replay', 'environment', '--run', RUN], { ...env, PAINTED: 'other' });
  expect([other.code, other.stdout]).toEqual([1, expect.stringContaining('pictures')]);

  const out = join(folder, 'out.jsonl');
  const exported = await runEspalier(['export', '--run', RUN, '--format', 'openai', '--out', out], env);
  expect([exported.code, exported.stderr]).toEqual([0, expect.not.stringContaining('rror')]);
  expect(JSON.parse(await readFile(out, 'utf8'))).toMatchObject({
    messages: [
      { content: [{ text: 'a dot' }, dot.part] },
      { role: 'assistant' },
      { content: [{ text: 'step 1' }, noise.part] },
      { role: 'assistant' },
    ],
    metadata: { images: [{ id: dot.id }, { id: noise.id }] },
  });
});

test('what is no picture fails the rollouts of its task with its place and the reason', async () => {
  const asked = ['--policy', `openai:stand-in@${server.url}`, '--environment', world.environment, '--task', 'broken'];
  const { code, stdout } = await runEspalier(['collect', ...asked], env);
  expect([code, stdout]).toEqual([1, expect.stringContaining('picture 1 is neither a PNG nor a JPEG: it begins with 474946')]);
});
