import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { pack } from '../../../events/packed.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { givenPrepared } from '../../../testing/projecting-log.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import type { DatasetError } from '../dataset-error.ts';
import { type ExportOptions, exportTrajectories } from './export-trajectories.ts';
import { manifestPath } from './manifest.ts';
import { parseTrajectoryQuery, type QueryTexts } from './parse-trajectory-query.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let folder: string;
let blobs: MemoryBlobs;

beforeEach(async () => {
  blobs = new MemoryBlobs();
  folder = await mkdtemp(join(tmpdir(), 'espalier-export-'));
});
afterEach(() => rm(folder, { recursive: true }));

function options(change: Partial<ExportOptions> = {}): ExportOptions {
  return {
    db: database.db,
    blobs,
    query: everyTrajectory,
    format: { kind: 'openai', weights: 'policy', metadata: 'include' },
    out: join(folder, 'data.jsonl'),
    existing: 'refuse',
    empty: 'refuse',
    codeVersion: 'test',
    waitMs: 2_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  };
}

/** A line of a chat format, as far as a test reads it. */
interface Line {
  readonly messages?: readonly { readonly content: string; readonly weight?: number }[];
  readonly metadata?: { readonly task: { readonly alias: string }; readonly ordinal: number };
}

async function exported(change: Partial<ExportOptions> = {}): Promise<Line[]> {
  const { out } = options(change);
  await exportTrajectories(options({ existing: 'replace', ...change }));
  const lines = (await readFile(out, 'utf8')).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error: DatasetError) => error.code,
  );

/** Two tasks; the first has two rollouts that share a prefix. */
function builder(): EventBuilder {
  const recorded = new EventBuilder();
  const runId = recorded.run();
  const tree = recorded.tree(runId, 'bread');
  const one = recorded.rollout(tree, 0);
  const shared = recorded.step(tree, one, tree.rootStepId, 1, { response: 'shared', observation: 'seen' });
  const left = recorded.step(tree, one, shared, 2, { response: 'left', observation: 'end left', termination: 'terminated' });
  recorded.reward(tree, left, 1, { rolloutId: one });
  recorded.reward(tree, shared, 0.25, { component: 'format' });
  recorded.finishRollout(tree, one, left, { steps: 2 });
  const two = recorded.rollout(tree, 1, { fromStepId: shared });
  const right = recorded.step(tree, two, shared, 2, { response: 'right', observation: 'end right' });
  recorded.reward(tree, null, -0.5, { rolloutId: two, component: 'length' });
  recorded.finishRollout(tree, two, right, { steps: 1, outcome: 'truncated', success: false });
  recorded.closeTree(tree, 2);
  const other = recorded.tree(runId, 'axe', { task: taskOf(recorded, 'axe', 'test') });
  recorded.walk(other, 0, 3, 0);
  recorded.rollout(other, 1); // goes on: no trajectory yet
  recorded.finishRun(runId);
  return recorded;
}

function taskOf(recorded: EventBuilder, alias: string, split: string) {
  return {
    taskId: recorded.id('task', alias),
    environment: 'textcraft',
    serverFingerprint: 'world-1',
    observationHash: createHash('sha256').update(alias).digest('hex'),
    alias,
    goal: `craft ${alias}`,
    depth: 1,
    split,
  };
}

describe('exports of OpenAI chats', () => {
  test('every finished trajectory becomes one chat in the order of run, alias and ordinal, ending with the assistant', async () => {
    const recorded = builder();
    await givenEvents(database.db, recorded.events);
    const lines = await exported();
    expect(lines).toHaveLength(3);
    expect(lines[1]).toEqual({
      messages: [
        { role: 'system', content: 'Craft what is asked.' },
        { role: 'user', content: 'Goal: craft bread.' },
        { role: 'assistant', content: 'shared', weight: 1 },
        { role: 'user', content: 'seen' },
        { role: 'assistant', content: 'left', weight: 1 },
      ],
      metadata: {
        kind: 'trajectory',
        trajectory: recorded.id('rollout', recorded.id('tree', recorded.id('run', 'run'), 'bread'), 0),
        rejected: '',
        tree: recorded.id('tree', recorded.id('run', 'run'), 'bread'),
        run: recorded.id('run', 'run'),
        task: { id: recorded.id('task', 'bread'), alias: 'bread', goal: 'craft bread', depth: 1, split: '' },
        environment: { name: 'textcraft', fingerprint: 'world-1' },
        policy: { id: 'random', version: 0 },
        ordinal: 0,
        outcome: 'terminated',
        result: 'success',
        steps: 2,
        leaf: expect.any(String),
        rejected_leaf: '',
        revision: '',
        state: '',
        judge: '',
        judgements: '',
        labels: '',
        rejected_labels: '',
        prompt: 'composed',
        part: { index: 0, of: 1, from: 0, to: 2 },
        scores: [
          { name: 'return', value: 1.25 },
          { name: 'reward.environment', value: 1 },
          { name: 'reward.format', value: 0.25 },
        ],
      },
    });
    expect(lines[2]).toMatchObject({
      metadata: {
        ordinal: 1,
        steps: 2,
        scores: [
          { name: 'return', value: -0.25 },
          { name: 'reward.format', value: 0.25 },
          { name: 'reward.length', value: -0.5 },
        ],
      },
    });
    expect(lines[0]).toMatchObject({ metadata: { task: { alias: 'axe' } } });
  });

  test('the rule `own` weighs a shared step only in the line of the rollout that took it', async () => {
    await givenEvents(database.db, builder().events);
    const lines = await exported({ format: { kind: 'openai', weights: 'own', metadata: 'omit' } });
    const weights = lines.map(({ messages }) => messages?.flatMap((m) => m.weight ?? []));
    expect(weights).toEqual([
      [1, 1, 1],
      [1, 1],
      [0, 1],
    ]);
    expect(Object.keys(lines[0] ?? {})).toEqual(['messages']);
  });

  test('a trajectory without a step is counted and omitted, since it has no reply to train on', async () => {
    const recorded = new EventBuilder();
    const tree = recorded.tree(recorded.run());
    recorded.walk(tree, 0, 1, 1);
    recorded.finishRollout(tree, recorded.rollout(tree, 1), tree.rootStepId, { outcome: 'failed', success: null, steps: 0 });
    await givenEvents(database.db, recorded.events);
    const manifest = await exportTrajectories(options({ query: parseTrajectoryQuery({ outcomes: 'terminated,failed' }) }));
    expect(manifest.counts).toEqual({ trajectories: 2, withoutStep: 1, trees: 1, steps: 1, tokens: 0, lines: 1 });
  });
});

describe('filters', () => {
  test.each<[QueryTexts, string[]]>([
    [{}, ['axe 0', 'bread 0', 'bread 1']],
    [{ tasks: 'bread' }, ['bread 0', 'bread 1']],
    [{ outcomes: 'truncated,failed' }, ['bread 1']],
    [{ success: 'false' }, ['axe 0', 'bread 1']],
    [{ returnMin: '0', returnMax: '1.25' }, ['axe 0', 'bread 0']],
    [{ returnMin: '-0.25', returnMax: '-0.25' }, ['bread 1']],
    [{ policies: 'random@0,other' }, ['axe 0', 'bread 0', 'bread 1']],
    [{ splits: 'test' }, ['axe 0']],
    [{ environments: 'textcraft', splits: 'test,train' }, ['axe 0']],
    [{ finishedFrom: '2026-01-01T00:00:09Z', finishedBefore: '2026-01-01T00:00:12.5Z' }, ['bread 1']],
  ])('the filter %j selects %j', async (texts, expected) => {
    await givenEvents(database.db, builder().events);
    const lines = await exported({ query: parseTrajectoryQuery(texts) });
    expect(lines.map(({ metadata }) => `${metadata?.task.alias} ${metadata?.ordinal}`)).toEqual(expected);
  });

  test('a policy whose id contains @ is found in all its versions or in one', async () => {
    const recorded = new EventBuilder();
    const tree = recorded.tree(recorded.run());
    const names = ['openai:Qwen@http://x', 'model@2', 'model'];
    for (const [ordinal, policyId] of names.entries()) {
      const rolloutId = recorded.rollout(tree, ordinal, { policy: { policyId, version: 2 } });
      recorded.finishRollout(tree, rolloutId, recorded.step(tree, rolloutId, tree.rootStepId, 1), { steps: 1 });
    }
    await givenEvents(database.db, recorded.events);
    const found = async (policies: string) =>
      (await exported({ query: parseTrajectoryQuery({ policies }) })).map(({ metadata }) => names[metadata?.ordinal ?? -1]);
    expect(await found('openai:Qwen@http://x')).toEqual(['openai:Qwen@http://x']);
    expect(await found('openai:Qwen@http://x@2')).toEqual(['openai:Qwen@http://x']);
    expect(await found('model@2')).toEqual(['model']);
    expect(await found('model@2@')).toEqual(['model@2']);
    expect(await found('model@2@2,model')).toEqual(['model@2', 'model']);
  });

  test('a task is found by its id and by its alias, and a run by its id', async () => {
    const recorded = builder();
    await givenEvents(database.db, recorded.events);
    expect(await exported({ query: parseTrajectoryQuery({ tasks: recorded.id('task', 'axe') }) })).toHaveLength(1);
    expect(await exported({ query: parseTrajectoryQuery({ runs: recorded.id('run', 'run') }) })).toHaveLength(3);
  });

  test('a filter without a match is an error that names it, unless an empty file is allowed', async () => {
    await givenEvents(database.db, builder().events);
    const query = parseTrajectoryQuery({ environments: 'webshop', policies: 'linear@3' });
    await expect(exportTrajectories(options({ query }))).rejects.toThrow(
      'no finished trajectory matches environments = webshop, policies = linear@3',
    );
    expect(await readdir(folder)).toEqual([]);
    expect((await exportTrajectories(options({ query, empty: 'allow' }))).counts.trajectories).toBe(0);
  });
});

describe('export files', () => {
  test('two exports have the same bytes, manifest included, in every format', async () => {
    await givenEvents(database.db, builder().events);
    const formats: ExportOptions['format'][] = [
      { kind: 'openai', weights: 'policy', metadata: 'include' },
      { kind: 'sharegpt', weights: 'policy' },
      { kind: 'parquet', weights: 'policy' },
      { kind: 'jsonl', scope: 'trajectories' },
    ];
    for (const format of formats) {
      const outs = ['a', 'b'].map((name) => join(folder, `${format.kind}-${name}`));
      for (const out of outs) await exportTrajectories(options({ format, out }));
      const [a, b] = await Promise.all(outs.map((out) => readFile(out)));
      const [ma, mb] = await Promise.all(outs.map((out) => readFile(manifestPath(out), 'utf8')));
      expect(a?.equals(b ?? Buffer.alloc(0))).toBe(true);
      expect(ma).toBe(mb);
      expect(JSON.parse(ma ?? '')).toMatchObject({
        schema: 'espalier-manifest/1',
        format,
        codeVersion: 'test',
        bytes: a?.length,
        sha256: createHash('sha256')
          .update(a ?? '')
          .digest('hex'),
        counts: { trajectories: 3, trees: 2 },
      });
    }
  });

  test('the manifest shows the position of every projection that was read', async () => {
    const recorded = builder();
    await givenEvents(database.db, recorded.events);
    const trees = recorded.events.filter(({ type }) => !type.startsWith('Run')).length;
    const { position } = await exportTrajectories(options());
    const ofTrees = `trees.0:${trees}`;
    expect(position).toEqual({
      'step-tree@3': ofTrees,
      'rewards@4': ofTrees,
      'prompts@2': ofTrees,
      'pictures@2': ofTrees,
      'annotations@2': ofTrees,
      'runs@2': 'runs.0:2',
      'images@2': `runs.0:2,${ofTrees}`,
    });
  });

  test('an existing file is refused and kept, unless it is to be replaced', async () => {
    await givenEvents(database.db, builder().events);
    const { out } = options();
    await writeFile(out, 'mine');
    expect(await codeOf(exportTrajectories(options()))).toBe('file-exists');
    expect(await readFile(out, 'utf8')).toBe('mine');
    await exportTrajectories(options({ existing: 'replace' }));
    expect(await readFile(out, 'utf8')).not.toBe('mine');
    expect((await readdir(folder)).sort()).toEqual(['_manifests', 'data.jsonl']);
    expect(await readdir(join(folder, '_manifests'))).toEqual(['data.manifest-jsonl']);
  });

  test('every number of a row that is no count has a point in the text, so that files of two runs have columns of one type', async () => {
    const recorded = builder();
    await givenEvents(database.db, recorded.events);
    for (const format of [
      { kind: 'openai', weights: 'policy', metadata: 'include' },
      { kind: 'sharegpt', weights: 'policy' },
      { kind: 'trl-grpo', metadata: 'include' },
    ] as const) {
      const { out } = options();
      await exportTrajectories(options({ format, existing: 'replace' }));
      const text = await readFile(out, 'utf8');
      expect(text).toContain('{"name":"reward.environment","value":1.0}');
      expect(text).not.toMatch(/"(value|reward)":-?\d+[,}]/);
      expect(text).toMatch(/"steps":2,/);
    }
  });

  test.each([
    ['a folder that is not there', 'nowhere/data.jsonl', 'the folder does not exist'],
    ['a path through a file', 'file/data.jsonl', 'a part of the path is a file'],
  ])('%s is one clear error', async (_, name, message) => {
    await givenEvents(database.db, builder().events);
    await writeFile(join(folder, 'file'), '');
    await expect(exportTrajectories(options({ out: join(folder, name) }))).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual(['file']);
  });

  test('a cancelled export leaves nothing behind', async () => {
    await givenEvents(database.db, builder().events);
    const stop = new AbortController();
    const onProgress = ({ done }: { done: number }) => (done === 1 ? stop.abort() : undefined);
    await expect(exportTrajectories(options({ signal: stop.signal, onProgress }))).rejects.toThrow('aborted');
    expect(await readdir(folder)).toEqual([]);
  });

  test('the progress goes from zero to the total', async () => {
    await givenEvents(database.db, builder().events);
    const seen: string[] = [];
    await exportTrajectories(options({ onProgress: ({ done, total }) => seen.push(`${done}/${total}`) }));
    expect(seen).toEqual(['0/3', '1/3', '2/3', '3/3']);
  });
});

describe('payloads in the blob store', () => {
  const long = 'x'.repeat(70_000);
  function longRecord(): EventBuilder {
    const recorded = new EventBuilder();
    const tree = recorded.tree(recorded.run(), 'bread', { instruction: `${long}i`, observation: `${long}o` });
    const rollout = recorded.rollout(tree);
    const ids = Array.from({ length: 20_000 }, (_, i) => i);
    const step = recorded.step(tree, rollout, tree.rootStepId, 1, {
      response: `${long}r`,
      tokens: { ids: pack('int32', ids), logProbs: null, mask: null },
    });
    recorded.finishRollout(tree, rollout, step);
    return recorded;
  }

  test('long texts appear unchanged in the file', async () => {
    await givenPrepared(database.db, longRecord().events, blobs);
    expect(blobs.held.size).toBe(4);
    const [line] = await exported();
    expect(line?.messages?.map(({ content }) => content)).toEqual([`${long}i`, `${long}o`, `${long}r`]);
  });

  test.each(['lost', 'damaged'])(
    'a %s payload is an error that names the trajectory and the field, and no file is left',
    async (how) => {
      const recorded = longRecord();
      await givenPrepared(database.db, recorded.events, blobs);
      const response = createHash('sha256').update(`${long}r`).digest('hex');
      if (how === 'lost') blobs.held.delete(response);
      else blobs.held.set(response, Buffer.from('other'));
      const rolloutId = recorded.id('rollout', recorded.id('tree', recorded.id('run', 'run'), 'bread'), 0);
      await expect(exportTrajectories(options())).rejects.toThrow(
        `trajectory ${rolloutId} step 1: response lies in the blob store`,
      );
      await expect(exportTrajectories(options({ format: { kind: 'jsonl', scope: 'trees' } }))).rejects.toThrow('data.response');
      expect(await readdir(folder)).toEqual([]);
    },
  );
});

describe('the snapshot of an export', () => {
  test('a projection behind the others is waited for, then named', async () => {
    await givenEvents(database.db, builder().events);
    await database.db.updateTable('cursors').set({ nextOffset: 1 }).where('projection', '=', 'rewards').execute();
    expect(await codeOf(exportTrajectories(options({ waitMs: 150 })))).toBe('projections-behind');
    await expect(exportTrajectories(options({ waitMs: 1 }))).rejects.toThrow('rewards did not reach');
  });

  test('events appended during the export are not in the file', async () => {
    const recorded = builder();
    await givenEvents(database.db, recorded.events);
    const before = recorded.events.length;
    recorded.walk(recorded.tree(recorded.id('run', 'run'), 'coal'), 0, 1, 1);
    let appending: Promise<void> | undefined;
    const onProgress = () => {
      appending ??= givenEvents(database.db, recorded.events.slice(before));
    };
    const lines = await exported({ onProgress });
    await appending;
    expect(lines).toHaveLength(3);
    expect(await exported()).toHaveLength(4);
  });
});

test('a folder in place of the file is refused', async () => {
  await mkdir(join(folder, 'data.jsonl'));
  expect(await codeOf(exportTrajectories(options()))).toBe('file-exists');
});
