import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Appender } from '../../../append/appender.ts';
import { EXAMPLE_ORDERING, readExamplePages } from '../../../projections/dataset-sources/read-examples.ts';
import { readDatasets } from '../../../projections/datasets/read-datasets.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { projectingAppender } from '../../../testing/projecting-log.ts';
import { recordRevision } from '../../../testing/record-revision.ts';
import { manifestPath } from '../export/manifest.ts';
import { findDataset, type ReleaseOptions, releaseDataset, withdrawDataset } from './release-dataset.ts';

const shop = datasetWorkshop();
const AGENT_R = { kind: 'agent-r', metadata: 'include', span: 'reply' } as const;

describe('releases', () => {
  let appender: ReturnType<typeof projectingAppender>;
  let runId: string;
  beforeEach(async () => {
    appender = projectingAppender(shop.db, shop.blobs);
    runId = await collected('first');
  });

  test('a release freezes a file under a name with all its parameters, and is found from its runs', async () => {
    const { kind, dataset, manifest } = await releasing();
    expect(kind).toBe('released');
    expect(dataset).toMatchObject({
      name: 'mined',
      version: 1,
      format: 'trl',
      formatVersion: 5,
      codeVersion: 'test',
      runs: [runId],
      withdrawnAt: null,
      parameters: { data: 'good', thresholds: { alpha: 0.5, beta: 0.2 }, gates: { maxPerTask: null }, general: null },
      counts: { good: 1, lines: 2, trained: 2, dropped: { duplicate: 0 } },
      sha256: manifest.sha256,
    });
    expect(Object.keys(dataset.position).sort()).toEqual([
      'annotations@2',
      'images@2',
      'pictures@2',
      'prompts@2',
      'rewards@4',
      'runs@2',
      'step-tree@3',
    ]);
    expect((await readFile(shop.path('mined.jsonl'), 'utf8')).trimEnd().split('\n')).toHaveLength(2);
    expect(await readDatasets(shop.db)).toContainEqual(dataset);
  });

  test('a repeated release is one release, other content is the next version, and an earlier content is found again', async () => {
    const first = await releasing();
    const again = await releasing();
    expect(again).toEqual({ ...first, kind: 'already-released' });
    await collected('second');
    const next = await releasing({ out: shop.path('next.jsonl') });
    expect(next).toMatchObject({ kind: 'released', dataset: { version: 2, counts: { good: 2 } } });
    expect(next.dataset.sha256).not.toBe(first.dataset.sha256);
    const query = { ...everyTrajectory, runs: [runId] };
    expect(await releasing({ query, out: shop.path('old.jsonl') })).toMatchObject({
      kind: 'already-released',
      dataset: first.dataset,
      manifest: first.manifest,
    });
    const [old = '', made = ''] = await Promise.all(
      ['old', 'mined'].map((name) => readFile(manifestPath(shop.path(`${name}.jsonl`)), 'utf8')),
    );
    expect(JSON.parse(old)).toEqual(JSON.parse(made)); // of the moment of the release, though there was more on record by then
    expect(JSON.parse(old)).toMatchObject({ query: first.manifest.query, position: first.manifest.position });
    expect((await releasing({ name: 'other', out: shop.path('other.jsonl') })).dataset).toMatchObject({
      name: 'other',
      version: 1,
    });
    expect(appender.appended.filter(({ type }) => type === 'DatasetReleased')).toHaveLength(3);
    expect(appender.appended).toHaveLength(6); // each with its sources
  });

  test('a release killed before its file leaves nothing, and one killed before its event leaves a whole file; a repetition yields the same digest', async () => {
    const undisturbed = await releasing({ name: 'undisturbed', out: shop.path('undisturbed.jsonl') });
    const early = releasing({
      onProgress: () => {
        throw new Error('killed while it wrote');
      },
    });
    await expect(early).rejects.toThrow('killed while it wrote');
    expect((await readdir(dirname(shop.path('x')))).sort()).toEqual(['_manifests', 'undisturbed.jsonl']);
    const dead: Appender = { append: () => Promise.reject(new Error('killed before its event')) };
    await expect(releasing({ appender: dead })).rejects.toThrow('killed before its event');
    expect(await readDatasets(shop.db)).toHaveLength(1);
    const { kind, dataset } = await releasing();
    expect({ kind, version: dataset.version, sha256: dataset.sha256 }).toEqual({
      kind: 'released',
      version: 1,
      sha256: undisturbed.dataset.sha256,
    });
  });

  test('a release records the sources of each example once, also when it was killed before that', async () => {
    const halved: Appender = { append: (drafts) => appender.append(drafts.slice(0, 1)) };
    const { dataset } = await releasing({ appender: halved });
    const page = { limit: 10, towards: 'forwards', after: null, before: null } as const;
    const examples = async () => {
      const [found] = await readExamplePages(shop.db, [{ datasetId: dataset.id }], EXAMPLE_ORDERING, page);
      return found?.rows.map(({ row }) => row);
    };
    expect(await examples()).toEqual([]);
    const rollout = await shop.db.selectFrom('rollouts').selectAll().where('success', '=', true).executeTakeFirstOrThrow();
    for (let i = 0; i < 2; i++) {
      expect(await releasing()).toMatchObject({ kind: 'already-released' });
      // One trajectory of two replies: two lines of trl.
      expect(await examples()).toEqual([
        {
          datasetId: dataset.id,
          line: 1,
          lines: 2,
          kind: 'good',
          treeId: rollout.treeId,
          goodRolloutId: rollout.rolloutId,
          badRolloutId: null,
          revisionId: null,
        },
      ]);
    }
    expect(appender.appended.map(({ type }) => type)).toEqual(['DatasetReleased', 'DatasetSourced']);
  });

  test('two concurrent releases of one name get two versions, and neither is lost', async () => {
    const general = { path: shop.path('general.json'), eta: 0.5, seed: 1 };
    await writeFile(general.path, '[{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}]');
    const [one, two] = await Promise.all([releasing(), releasing({ general, out: shop.path('two.jsonl') })]);
    expect([one.dataset.version, two.dataset.version].sort()).toEqual([1, 2]);
    expect((await readDatasets(shop.db)).map(({ sha256 }) => sha256).sort()).toEqual(
      [one.manifest.sha256, two.manifest.sha256].sort(),
    );
  });

  test('a release does not overwrite another file, and refuses before anything is recorded', async () => {
    await writeFile(shop.path('mined.jsonl'), 'mine\n');
    await expect(releasing()).rejects.toMatchObject({ code: 'file-exists' });
    expect(await readFile(shop.path('mined.jsonl'), 'utf8')).toBe('mine\n');
    expect(appender.appended).toEqual([]);
    expect(await releasing({ existing: 'replace' })).toMatchObject({ kind: 'released' });
    await expect(releasing({ name: 'two words' })).rejects.toMatchObject({ code: 'invalid-query' });
  });

  test('a release omits what measures: evaluations, channels other than train, and tasks seen by an evaluation', async () => {
    const builder = new EventBuilder('measured');
    const walk = (runId: string, task: string) => {
      const tree = builder.tree(runId, task);
      const rolloutId = builder.rollout(tree, 0);
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, {
        response: `Action: ${runId} ${task}`,
        termination: 'terminated',
      });
      builder.reward(tree, leaf, 1, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { success: true, steps: 1 });
    };
    const channel = (name: string) => ({ config: { training: { policyId: 'p', channel: name } } });
    const learning = builder.run('learning', channel('train'));
    const plain = builder.run('plain');
    const held = builder.run('held', { kind: 'evaluate', ...channel('held-out') });
    const greedy = builder.run('greedy', channel('baseline'));
    const validating = builder.run('validating', channel('validation'));
    for (const [run, task] of [
      [learning, 'learned'],
      [plain, 'collected'],
      [plain, 'examined'],
      [held, 'examined'],
      [greedy, 'learned'],
      [validating, 'validated'],
      [learning, 'validated'],
    ] as const)
      walk(run, task);
    await givenEvents(shop.db, builder.events);
    const query = { ...everyTrajectory, runs: [learning, plain, held, greedy, validating] };
    const { manifest } = await releasing({ query });
    expect([...manifest.runs].sort()).toEqual([learning, plain].sort());
    expect(manifest.counts).toMatchObject({
      good: 2,
      dropped: { evaluation: 1, 'other-channel': 2, 'evaluated-task': 2, 'test-task': 0, duplicate: 0 },
    });
    expect(manifest.parameters.gates).toMatchObject({ evaluations: 'remove' });
    const all = await releasing({
      query,
      name: 'all',
      out: shop.path('all.jsonl'),
      parameters: { ...manifest.parameters, gates: { ...manifest.parameters.gates, evaluations: 'keep' } },
    });
    expect(all.manifest.counts).toMatchObject({ good: 7, dropped: { evaluation: 0, 'other-channel': 0, 'evaluated-task': 0 } });
  });

  test('a release is withdrawn once with a reason, and the same content is not released again', async () => {
    const { dataset } = await releasing();
    const writing = { db: shop.db, appender, settled: async () => undefined };
    await expect(withdrawDataset(writing, dataset, ' ')).rejects.toMatchObject({ code: 'invalid-query' });
    const withdrawn = await withdrawDataset(writing, findDataset(await readDatasets(shop.db), 'mined@1'), 'a leak');
    expect(withdrawn).toMatchObject({ id: dataset.id, withdrawReason: 'a leak' });
    expect(await withdrawDataset(writing, withdrawn, 'twice')).toEqual(withdrawn);
    await expect(releasing()).rejects.toThrow('mined@1, which was withdrawn: a leak');
    await expect(async () => findDataset([], 'mined@7')).rejects.toMatchObject({ code: 'nothing-matches' });
  });

  test('of revisions of equal content that of the asked thresholds is released, and mining them again is no new version', async () => {
    const { builder, place, revisionId: first } = recordRevision();
    await givenEvents(shop.db, builder.events);
    const minedAt = async (beta: number) => {
      const [composed] = builder.events.filter((event) => event.type === 'RevisionComposed');
      if (composed?.type !== 'RevisionComposed') throw new Error('a revision was recorded');
      const revisionId = builder.id('revision', `${beta} ${builder.events.length}`);
      const before = builder.events.length;
      builder.record('RevisionComposed', { ...composed.data, revisionId, beta }, place.run);
      builder.record('RevisionVerified', { revisionId, treeId: place.tree, reached: 1, threshold: 0.5 }, place.run);
      await givenEvents(shop.db, builder.events.slice(before));
      return revisionId;
    };
    const query = { ...everyTrajectory, runs: [place.run] };
    const gates = { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: null } as const;
    const at = (beta: number) => ({ data: 'revisions', thresholds: { alpha: 0.5, beta }, state: 'verified', gates }) as const;
    const release = (name: string, beta: number) =>
      releasing({ query, name, out: shop.path(`${name}.jsonl`), parameters: at(beta), format: AGENT_R });
    const revisionOf = async (name: string) => JSON.parse(await readFile(shop.path(`${name}.jsonl`), 'utf8')).metadata.revision;

    await release('early', 0.2);
    expect(await revisionOf('early')).toBe(first); // none is of these thresholds
    const asked = await minedAt(0.2);
    for (const beta of [0.1, 0.3, 0.2]) await minedAt(beta);
    await release('late', 0.2);
    expect(await revisionOf('late')).toBe(asked);
    const { manifest } = await release('other', 0.25);
    expect([await revisionOf('other'), manifest.counts.dropped]).toMatchObject([first, { duplicate: 4 }]);
    for (const name of ['early', 'late', 'other']) {
      const again = await release(name, name === 'other' ? 0.25 : 0.2);
      expect([again.kind, again.dataset.version]).toEqual(['already-released', 1]);
    }
  });

  test('lines that a gate drops are counted once', async () => {
    const builder = new EventBuilder('twice');
    const runId = builder.run('twice', { kind: 'evaluate' });
    for (const name of ['first', 'second']) {
      const tree = builder.tree(runId, name, { observation: 'Goal: craft a.' });
      const rolloutId = builder.rollout(tree, 0);
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: 'Action: same', termination: 'terminated' });
      builder.reward(tree, leaf, 1, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { success: true, steps: 1 });
    }
    await givenEvents(shop.db, builder.events);
    await expect(releasing({ query: { ...everyTrajectory, runs: [runId] } })).rejects.toThrow(
      /the gates dropped 1 by evaluation, 1 by duplicate$/,
    );
  });

  function releasing(change: Partial<ReleaseOptions> = {}) {
    const gates = { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: null } as const;
    return releaseDataset({
      db: shop.db,
      blobs: shop.blobs,
      query: everyTrajectory,
      general: null,
      name: 'mined',
      out: shop.path('mined.jsonl'),
      format: { kind: 'trl', metadata: 'include', span: 'reply' },
      parameters: { data: 'good', thresholds: { alpha: 0.5, beta: 0.2 }, state: 'verified', gates },
      existing: 'same',
      codeVersion: 'test',
      waitMs: 2_000,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      appender,
      settled: async () => undefined,
      ...change,
    });
  }

  /** A run of one tree: a walk of two steps that succeeds, of words that no other run says, and one that fails. */
  async function collected(name: string): Promise<string> {
    const builder = new EventBuilder(name);
    const id = builder.run(name);
    const tree = builder.tree(id, name);
    for (const [ordinal, value] of [1, 0].entries()) {
      const rolloutId = builder.rollout(tree, ordinal);
      const step = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: `Action: ${name} ${value}` });
      const leaf = builder.step(tree, rolloutId, step, 2, {
        response: `Action: end ${name} ${value}`,
        termination: 'terminated',
      });
      builder.reward(tree, leaf, value, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { success: value === 1, steps: 2 });
    }
    await givenEvents(shop.db, builder.events);
    return id;
  }
});
