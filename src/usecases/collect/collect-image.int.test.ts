import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TEMPLATE_VERSIONS } from '../../domain/prompts/compose-prompt.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { imageId } from '../../images/image-id.ts';
import { decodePng } from '../../images/png.ts';
import { readHistoryImages } from '../../projections/images/read-history-images.ts';
import { rebuildImage } from '../../projections/images/rebuild-image.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { startAgentGymServer } from '../../testing/agentgym-server.ts';
import { alfworldWorld } from '../../testing/agentgym-server-worlds.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { runDigest } from '../datasets/digest-trees.ts';
import { type Collection, collect } from './collect.ts';
import type { PromptPlan } from './prompting/prompt-plan.ts';
import { openPrompter } from './prompting/prompter.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const compression = { candidateFactor: 1.3, reward: 'factor', lambda: 0.01, mu: 0, every: 5, iteration: 10 } as const;
const inImages: PromptPlan = {
  template: { name: 'textcraft', version: TEMPLATE_VERSIONS.textcraft },
  mode: 'image',
  historyLength: 50,
  image: { profile: 'crisp', vision: 'qwen2.5-vl', emptyHistory: 'no-image' },
  compression,
  invalidPenalty: 0.1,
};

function collection(policy: string, prompt: PromptPlan, signal = new AbortController().signal): Collection {
  const plan = {
    environment: 'textcraft',
    tasks: [{ alias: '45', rollouts: 2, branching: 'root' as const }],
    taskSeed: 0,
    policy,
    temperature: 1,
    maxSteps: 12,
    search: null,
    prompt,
  };
  return { runId: newId(), name: 'images', seed: 3, plan, concurrency: 1, signal, mode: 'new' };
}
const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });

async function stepsOf(runId: string) {
  return platform.database.db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .leftJoin('historyImages', 'historyImages.stepId', 'steps.stepId')
    .select([
      'steps.treeId',
      'steps.stepId',
      'depth',
      'steps.rolloutId',
      'response',
      'imageId',
      'factor',
      'visionTokens',
      'textTokens',
      'height',
    ])
    .where('trees.runId', '=', runId)
    .where('depth', '>', 0)
    .orderBy('steps.rolloutId')
    .orderBy('depth')
    .execute();
}

async function expectRebuilt(steps: readonly { treeId: string; stepId: string; imageId: string | null }[]): Promise<void> {
  const { db } = platform.database;
  const shown = await readHistoryImages(
    db,
    steps.flatMap(({ treeId, stepId: id, imageId: shown }) => (shown === null ? [] : [{ treeId, id }])),
  );
  expect(shown.length).toBeGreaterThan(0);
  for (const record of shown) {
    const rebuilt = await rebuildImage({ db, blobs: platform.blobs }, record);
    expect(rebuilt).toMatchObject({ kind: 'image', image: { imageId: record.id } });
  }
}

describe('runs in image mode', () => {
  test('every step after the first records the image in its prompt, and each image is rebuilt from the record', async () => {
    const run = collection('planner:0.2', inImages);
    await collect(platform, run);
    await settled();
    const steps = await stepsOf(run.runId);
    for (const step of steps) expect([step.depth, step.imageId === null]).toEqual([step.depth, step.depth === 1]);
    const later = steps.filter((step) => step.depth > 1);
    expect(new Set(later.map((step) => step.factor))).toEqual(new Set([1.3]));
    for (const step of later) expect(step.textTokens).toBeGreaterThan(0);
    await expectRebuilt(steps);
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test.each([
    { name: 'a rollout', search: null, rollouts: 2 },
    { name: 'a search', search: { iterations: 3, candidates: 2, maxDepth: 6, exploration: 0.25 }, rollouts: 1 },
  ])(
    'what is kept to continue the histories of $name is dropped when it ends, not when its run does',
    async ({ search, rollouts }) => {
      const plain = { ...inImages, compression: null };
      const renderer = openPrompter(platform, plain).drawing?.renderer;
      const kept: number[] = [];
      const { plan, ...run } = collection('planner:0.2', plain);
      const tasks = ['45', '46'].map((alias) => ({ alias, rollouts, branching: 'root' as const }));
      await collect(platform, {
        ...run,
        plan: { ...plan, tasks, search },
        progress: () => kept.push(renderer?.stackBytes ?? Number.NaN),
      });
      const first = kept.findIndex((bytes) => bytes > 0);
      expect(first).toBeGreaterThan(0);
      expect(kept.slice(first)).toContain(0); // the next one begins without a history
    },
  );

  test('compression is rewarded in every K-th iteration on successful rollouts, at the requesting step, and never on the last one', async () => {
    const run = collection('planner', inImages);
    const idle = collection('planner', { ...inImages, compression: { ...compression, iteration: 9 } });
    for (const one of [run, idle]) await collect(platform, one);
    await settled();
    const paid = await platform.database.db
      .selectFrom('rewards')
      .innerJoin('steps', 'steps.stepId', 'rewards.stepId')
      .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
      .select(['depth', 'value', 'trees.runId'])
      .where('component', '=', 'compression')
      .where('trees.runId', 'in', [run.runId, idle.runId])
      .execute();
    const depth = Math.max(...(await stepsOf(run.runId)).map((step) => step.depth));
    expect(new Set(paid.map((one) => one.runId))).toEqual(new Set([run.runId]));
    expect(paid).toHaveLength(2 * (depth - 1));
    for (const { value } of paid) expect(value).toBeCloseTo(0.01 * Math.log(1.3), 12);
  });

  test('a run that was stopped and resumed reaches the trees and images of an undisturbed one', async () => {
    const stop = new AbortController();
    const whole = collection('planner:0.2', inImages);
    const cut = {
      ...collection('planner:0.2', inImages, stop.signal),
      progress: (p: { steps: number }) => p.steps >= 5 && stop.abort(),
    };
    await collect(platform, whole);
    await collect(platform, cut);
    await settled();
    await collect(platform, { ...cut, mode: 'resume', signal: new AbortController().signal, progress: () => undefined });
    await settled();
    expect(await runDigest(platform, cut.runId)).toEqual(await runDigest(platform, whole.runId));
    const pictures = async (runId: string) => (await stepsOf(runId)).map(({ depth, imageId: id }) => `${depth} ${id}`).sort();
    expect(await pictures(cut.runId)).toEqual(await pictures(whole.runId));
    await expectRebuilt(await stepsOf(cut.runId));
    expect(await platform.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });
});

describe('a model server', () => {
  let server: OpenAiServer;
  beforeAll(async () => {
    server = await startOpenAiServer({
      reply: () =>
        `Thought: I look.\nAction: inventory\n<compression>${server.requests.length % 2 === 0 ? '2.0' : 'much'}</compression>`,
    });
  });
  afterAll(() => server.close());

  test('the model receives the recorded image, at the factor that it requested before', async () => {
    const policy = JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' });
    const run = collection(policy, inImages);
    const [task] = run.plan.tasks;
    await collect(platform, {
      ...run,
      plan: { ...run.plan, tasks: [{ ...(task as NonNullable<typeof task>), rollouts: 1 }], maxSteps: 4 },
    });
    await settled();
    const steps = await stepsOf(run.runId);
    expect(steps.map((step) => step.factor)).toEqual([null, 1, 2, 1]);
    for (const [i, step] of steps.entries()) {
      const url = /data:image\/png;base64,([A-Za-z0-9+/=]+)/.exec(server.requests[i]?.text ?? '')?.[1];
      if (step.imageId === null) expect(url).toBeUndefined();
      else {
        const { width, height, rgb } = await decodePng(Buffer.from(url ?? '', 'base64'));
        expect(imageId(width, height, rgb)).toBe(step.imageId);
      }
    }
  });
});

describe('ALFWorld behind its AgentGym server', () => {
  test.each(['text', 'image'] as const)(
    'ALFWorld is played in %s mode by its template, and a malformed answer is penalised',
    async (mode) => {
      const gym = await startAgentGymServer(alfworldWorld);
      let turn = 0;
      const model = await startOpenAiServer({
        // Looks, breaks the form with two actions at once, then does what the task asks.
        reply: () => {
          turn++;
          if (turn === 1) return '<think>I look around.</think><action>look</action><compression>2</compression>';
          if (turn === 2)
            return '<think>Both.</think><action>look</action><action>go to desk 1</action><compression>3</compression>';
          return '<think>Now.</think><action>Put mug 1 in/on desk 1</action>';
        },
      });
      try {
        const prompt: PromptPlan = {
          template: { name: 'alfworld', version: TEMPLATE_VERSIONS.alfworld },
          mode,
          historyLength: 50,
          image: mode === 'image' ? { profile: 'agentocr-alfworld', vision: 'qwen2.5-vl', emptyHistory: 'blank-image' } : null,
          compression: mode === 'image' ? compression : null,
          invalidPenalty: 0.1,
        };
        const asked = collection(JSON.stringify({ kind: 'openai', baseUrl: model.url, model: 'stand-in' }), prompt);
        const tasks = [{ alias: '0', rollouts: 1, branching: 'root' as const }];
        await collect(platform, {
          ...asked,
          plan: { ...asked.plan, environment: `agentgym:alfworld@${gym.url}#0-2`, tasks },
        });
        await settled();
        const steps = await stepsOf(asked.runId);
        expect(steps).toHaveLength(3);
        const sent = model.requests.map(({ text }) => text);
        if (mode === 'image') {
          // The blank image of 38 x 38 first, as published; then the factor that the step before asked for, 1 where it said two
          // actions.
          expect(steps.map(({ factor, visionTokens }) => [factor, visionTokens])).toEqual([
            [1, 9],
            [2, expect.any(Number)],
            [1, expect.any(Number)],
          ]);
          await expectRebuilt(steps);
          for (const text of sent) expect(text).toContain('data:image/png;base64,');
        } else {
          expect(steps.map(({ imageId: id }) => id)).toEqual([null, null, null]);
          expect(sent[2]).toContain('[Observation]: Nothing happens. [Action]:');
        }
        const { db } = platform.database;
        const paid = await db
          .selectFrom('rewards')
          .innerJoin('steps', 'steps.stepId', 'rewards.stepId')
          .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
          .select(['component', 'value', 'depth'])
          .where('trees.runId', '=', asked.runId)
          .orderBy('depth')
          .execute();
        expect(paid.filter(({ component }) => component === 'invalid-action')).toEqual([
          { component: 'invalid-action', value: -0.1, depth: 2 },
        ]);
        expect(paid.filter(({ component }) => component === 'environment')).toEqual([
          { component: 'environment', value: 1, depth: 3 },
        ]);
      } finally {
        await model.close();
        await gym.close();
      }
    },
  );
});
