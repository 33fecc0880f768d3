import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { contextOf } from '../../../domain/dataset/turn-weights.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { givenPrepared } from '../../../testing/projecting-log.ts';
import { recordRevision } from '../../../testing/record-revision.ts';
import { tinyIds, writeTinyTokenizer } from '../../../testing/tiny-tokenizer.ts';
import { openChatTokenizer } from '../export/chat-tokenizer.ts';
import { manifestPath } from '../export/manifest.ts';
import { readParquet } from '../prepare/read-source.ts';
import { exportRows, type RowExportOptions } from './export-rows.ts';
import type { RowFormat, RowParameters } from './row-options.ts';

const shop = datasetWorkshop();
const XTUNER: RowFormat = { kind: 'xtuner', metadata: 'include', span: 'reply' };
const KEEP: RowParameters = {
  data: 'both',
  thresholds: { alpha: 0.5, beta: 0.2 },
  state: 'verified',
  gates: { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null },
};

describe('training rows of the record', () => {
  test('rows are good trajectories and verified revisions, rebuilt from the tree, each with a reference to the record', async () => {
    const recorded = recordRevision();
    await givenEvents(shop.db, recorded.builder.events);
    const { rows, manifest } = await exporting();
    expect(manifest.counts).toMatchObject({
      good: 1,
      revisions: 1,
      pairs: 0,
      general: 0,
      lines: 2,
      trees: 1,
      tasks: 1,
      trained: 3,
    });
    expect(rows[0]).toEqual({
      conversation: [
        { system: 'Craft what is asked.', input: 'Goal: craft a.', output: 'Thought: s\nAction: s', output_with_loss: true },
        { input: 'saw s', output: 'Thought: g\nAction: g', output_with_loss: true },
      ],
      metadata: {
        ...recorded.place,
        kind: 'good',
        trajectory: recorded.rollouts[0],
        leaf: recorded.good,
        rejected: '',
        rejected_leaf: '',
        steps: 2,
        revision: '',
        state: '',
        judge: '',
        judgements: '',
        labels: '',
        rejected_labels: '',
        prompt: 'composed',
        part: { index: 0, of: 1, from: 0, to: 2 },
        scores: [
          { name: 'good', value: 1 },
          { name: 'alpha', value: KEEP.thresholds.alpha },
          { name: 'beta', value: KEEP.thresholds.beta },
        ],
      },
    });
    expect(rows[1]).toEqual({
      conversation: [
        { system: 'Craft what is asked.', input: 'Goal: craft a.', output: 'Thought: s\nAction: s', output_with_loss: false },
        { input: 'saw s', output: 'Thought: b\nAction: b', output_with_loss: false },
        { input: 'saw b', output: 'Thought: I was wrong. g\nAction: g', output_with_loss: true },
      ],
      metadata: {
        ...recorded.place,
        kind: 'revision',
        trajectory: recorded.rollouts[0],
        leaf: recorded.good,
        rejected: recorded.rollouts[1],
        rejected_leaf: recorded.bad,
        steps: 3,
        revision: recorded.revisionId,
        state: 'verified',
        judge: 'planner@1',
        prompt: 'composed',
        judgements: recorded.judgements.join(' '),
        labels: '',
        rejected_labels: '',
        part: { index: 0, of: 1, from: 0, to: 3 },
        scores: [
          { name: 'good', value: 1 },
          { name: 'bad', value: 0 },
          { name: 'alpha', value: 0.5 },
          { name: 'beta', value: 0.25 },
          { name: 'reached', value: 1 },
        ],
      },
    });
    const keys = rows.map((row) => Object.keys((row as { metadata: object }).metadata));
    expect(keys[0]).toEqual(keys[1]);
  });

  test('rows of token ids are one per example, the bad prefix and the observations without loss', async () => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const tokenizer = await openChatTokenizer(await writeTinyTokenizer(shop.path('.')));
    const format = { kind: 'trl', metadata: 'include', span: 'reply', tokenizer: tokenizer.sha256 } as const;
    const asked = { role: 'user', content: 'how?' };
    await writeFile(shop.path('general.json'), JSON.stringify([{ messages: [asked, { role: 'assistant', content: 'well' }] }]));
    const general = { path: shop.path('general.json'), eta: 0.5, seed: 0 };
    const { rows, manifest } = await exporting({ format, tokenizer, general });
    expect(manifest.counts).toMatchObject({ good: 1, revisions: 1, general: 2, lines: 4, trained: 3 });
    const trained = (rows as readonly Record<string, readonly number[]>[]).map(({ input_ids = [], labels = [] }) =>
      input_ids.filter((id, i) => labels[i] === id),
    );
    const said = (...replies: readonly string[]) => replies.flatMap((reply) => tinyIds(`${reply}<|im_end|>`));
    expect(trained).toEqual([
      said('Thought: s\nAction: s', 'Thought: g\nAction: g'),
      said('well'),
      said('Thought: I was wrong. g\nAction: g'),
      said('well'),
    ]);
    expect(rows.map((row) => (row as { metadata?: { kind: string } }).metadata?.kind)).toEqual([
      'good',
      'general',
      'revision',
      'general',
    ]);
    const out = shop.path('rows.parquet');
    await exporting({ format: { ...format, container: 'parquet' }, tokenizer, general, out });
    const columns = ['input_ids', 'labels', 'loss_mask', 'position_ids', 'tokenised', 'metadata'];
    const read: unknown[] = [];
    for await (const row of readParquet(out, columns)) read.push(row);
    expect(read).toEqual(rows);
  });

  test('general conversations have the metadata of all rows, its keys and its types, so that a file has one schema', async () => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const chat = {
      messages: [
        { role: 'user', content: 'how?' },
        { role: 'assistant', content: 'well' },
      ],
    };
    await writeFile(shop.path('general.json'), JSON.stringify([chat]));
    const general = { path: shop.path('general.json'), eta: 0.5, seed: 0 };
    const kinds = ['xtuner', 'sharegpt', 'openai', 'trl'] as const;
    for (const kind of kinds) {
      const { rows } = await exporting({ format: { ...XTUNER, kind }, general, out: shop.path(`${kind}.jsonl`) });
      const said = (rows as readonly { readonly metadata: object }[]).map(({ metadata }) => metadata);
      expect(said.map((each) => (each as { kind: string }).kind)).toContain('general');
      expect(new Set(said.map((each) => JSON.stringify(typesOf(each))))).toEqual(new Set([JSON.stringify(typesOf(said[0]))]));
    }
    const without = await exporting({ format: { ...XTUNER, metadata: 'omit' }, general, out: shop.path('without.jsonl') });
    expect(without.rows.some((row) => 'metadata' in (row as object))).toBe(false);
  });

  test.each([
    ['planner', 1],
    ['planner@1', 1],
    ['planner@2', 0],
    ['direct', 0],
  ])('the judge %s selects its own revisions among those of several judges: %s', async (judge, revisions) => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const { manifest } = await exporting({ parameters: { ...KEEP, judge } });
    expect(manifest.counts).toMatchObject({ good: 1, revisions });
    expect(manifest.parameters.judge).toBe(judge);
  });

  test('agent-r rows contain the judgement of the bad trajectory', async () => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const { rows } = await exporting({ format: { ...XTUNER, kind: 'agent-r' }, parameters: { ...KEEP, data: 'revisions' } });
    expect(rows).toMatchObject([
      {
        task_num: 'a',
        task_description: 'Goal: craft a.',
        revise: true,
        revise_feedback: [
          { revision_feedback: 'Judgement: <Good>', action: 's', obs: 'saw s', judgement: 'good' },
          { revision_feedback: 'Judgement: <Bad>', action: 'b', obs: 'saw b', judgement: 'bad' },
        ],
      },
    ]);
  });

  test('a rejected revision is never written, and an unverified one only on request', async () => {
    await givenEvents(shop.db, recordRevision('rejected').builder.events);
    const revisions = { ...KEEP, data: 'revisions' } as const;
    await expect(exporting({ parameters: { ...revisions, state: 'composed' } })).rejects.toMatchObject({
      code: 'nothing-matches',
    });
    await shop.startAgain();
    await givenEvents(shop.db, recordRevision('composed').builder.events);
    await expect(exporting({ parameters: revisions })).rejects.toThrow('--state composed');
    const { rows } = await exporting({ parameters: { ...revisions, state: 'composed' } });
    expect(rows).toMatchObject([{ metadata: { state: 'composed' } }]);
  });

  test('a revision that its tree does not yield as it was composed is left out and counted', async () => {
    await givenEvents(shop.db, recordRevision('verified', new EventBuilder('rows'), 'run', true).builder.events);
    const { manifest } = await exporting();
    expect(manifest.counts).toMatchObject({ good: 1, revisions: 0, dropped: { altered: 1 } });
    await expect(exporting({ parameters: { ...KEEP, data: 'revisions' } })).rejects.toThrow('dropped 1 by altered');
  });

  test('thresholds select among revisions that were mined with others', async () => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const parameters = { ...KEEP, data: 'revisions', thresholds: { alpha: 1, beta: 1 } } as const;
    expect((await exporting({ parameters })).rows).toHaveLength(1);
    await expect(exporting({ parameters: { ...parameters, thresholds: { alpha: 50, beta: 0.2 } } })).rejects.toMatchObject({
      code: 'invalid-query',
    });
  });

  test('a reply of another policy is context in a good trajectory, and a blob is replaced by its text', async () => {
    const builder = new EventBuilder('context');
    const tree = builder.tree(builder.run(), 'a');
    const rolloutId = builder.rollout(tree);
    const policySpans = [{ from: 0, to: 0, policyId: contextOf('random'), version: 0 }];
    const first = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: 'answered', policySpans });
    const long = 'long '.repeat(20_000);
    const leaf = builder.step(tree, rolloutId, first, 2, { response: long, termination: 'terminated' });
    builder.reward(tree, leaf, 1, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf);
    await givenPrepared(shop.db, builder.events, shop.blobs);
    const { rows, manifest } = await exporting({ parameters: { ...KEEP, data: 'good' } });
    expect(manifest.counts).toMatchObject({ good: 1, trained: 1 });
    expect(rows).toMatchObject([
      {
        conversation: [
          { output: 'answered', output_with_loss: false },
          { output: long, output_with_loss: true },
        ],
      },
    ]);
  });

  test('a failed or cancelled trajectory is neither good nor bad', async () => {
    const builder = new EventBuilder('failed');
    const tree = builder.tree(builder.run(), 'a');
    for (const [ordinal, outcome] of (['terminated', 'failed', 'cancelled'] as const).entries()) {
      const rolloutId = builder.rollout(tree, ordinal);
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: outcome });
      builder.reward(tree, leaf, outcome === 'terminated' ? 1 : 0, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { outcome });
    }
    await givenEvents(shop.db, builder.events);
    expect((await exporting({ parameters: { ...KEEP, data: 'good' } })).manifest.counts).toMatchObject({ good: 1 });
    const pairs = { format: { ...XTUNER, kind: 'dpo' }, parameters: { ...KEEP, data: 'pairs' } } as const;
    await expect(exporting(pairs)).rejects.toThrow('there are no pairs at alpha 0.5, beta 0.2');
  });

  test('pairs need no judge: the chosen and the rejected part follow the common prefix', async () => {
    await givenEvents(shop.db, recordRevision('none').builder.events);
    const { rows } = await exporting({
      format: { ...XTUNER, kind: 'dpo', metadata: 'omit' },
      parameters: { ...KEEP, data: 'pairs' },
    });
    expect(rows).toEqual([
      {
        prompt: [
          { role: 'system', content: 'Craft what is asked.' },
          { role: 'user', content: 'Goal: craft a.' },
          { role: 'assistant', content: 'Thought: s\nAction: s' },
          { role: 'user', content: 'saw s' },
        ],
        chosen: [{ role: 'assistant', content: 'Thought: g\nAction: g' }],
        rejected: [{ role: 'assistant', content: 'Thought: b\nAction: b' }],
      },
    ]);
  });

  test('two exports have the same bytes, manifest included', async () => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const files = async (name: string) => {
      await exporting({ out: shop.path(name) });
      return [await readFile(shop.path(name), 'utf8'), await readFile(manifestPath(shop.path(name)), 'utf8')];
    };
    expect(await files('one')).toEqual(await files('two'));
  });

  test('the gates exclude duplicates, tasks of the test split under any id, and more than the limit of one task', async () => {
    const recorded = recordRevision();
    const again = recordRevision('verified', recorded.builder, 'again');
    await givenEvents(shop.db, recorded.builder.events);
    expect((await exporting()).rows).toHaveLength(4);
    const gated = async (gates: Partial<RowParameters['gates']>) => {
      const { manifest } = await exporting({ parameters: { ...KEEP, gates: { ...KEEP.gates, ...gates } } });
      return manifest.counts;
    };
    expect(await gated({ duplicates: 'remove' })).toMatchObject({
      lines: 2,
      dropped: { duplicate: 2, 'test-task': 0, balance: 0 },
    });
    expect(await gated({ maxPerTask: 1 })).toMatchObject({ lines: 2, good: 1, revisions: 1, dropped: { balance: 2 } });
    // Another server numbers the same task otherwise, and has it in its test split.
    const leak = new EventBuilder('leak');
    const runId = leak.run('leak');
    const task = {
      taskId: leak.id('other'),
      environment: 'textcraft',
      serverFingerprint: 'world-2',
      observationHash: again.observationHash,
    };
    leak.tree(runId, 'b', { task: { ...task, alias: '99', goal: '', depth: null, split: 'test' } });
    await givenEvents(shop.db, leak.events);
    await expect(gated({ testTasks: 'remove' })).rejects.toThrow('dropped 4 by test-task');
  });

  test('eta is the share of agent data: 0.2 puts four general examples behind each, in an order fixed by the seed', async () => {
    await givenEvents(shop.db, recordRevision().builder.events);
    const chats = ['one', 'two', 'three'].map((word) => ({
      conversations: [
        { from: 'gpt', value: 'cut off before' },
        { from: 'human', value: word },
        { from: 'gpt', value: `${word}!` },
        { from: 'human', value: 'nobody answers' },
      ],
    }));
    await writeFile(shop.path('general.json'), JSON.stringify(chats));
    const general = { path: shop.path('general.json'), eta: 0.2, seed: 1 };
    const { rows, manifest } = await exporting({ general });
    expect(manifest.counts).toMatchObject({ good: 1, revisions: 1, general: 8, lines: 10 });
    expect(manifest.general).toMatchObject({ conversations: 3, eta: 0.2, seed: 1 });
    const inputs = (rows as { conversation: { input: string; output: string }[] }[]).map(
      ({ conversation }) => conversation[0]?.input,
    );
    expect(inputs.map((input) => (input === 'Goal: craft a.' ? 'agent' : 'general')).join(' ')).toBe(
      'agent general general general general agent general general general general',
    );
    expect(new Set(inputs.slice(1, 4))).toEqual(new Set(['one', 'two', 'three']));
    expect((await exporting({ general })).rows).toEqual(rows);
    expect((await exporting({ general: { ...general, seed: 4 } })).rows).not.toEqual(rows);
    await expect(exporting({ general: { ...general, eta: 20 } })).rejects.toMatchObject({ code: 'invalid-query' });
    await writeFile(shop.path('general.json'), '[{"text":"no conversation"}]');
    await expect(exporting({ general })).rejects.toThrow('line 1: is neither');
  });

  test('rows of trees with a rollout whose captured calls are unclear are refused with the remedy, left out by drop, and counted by keep', async () => {
    const { builder } = recordRevision();
    const end = builder.events.findLast(({ type, data }) => type === 'RolloutFinished' && 'success' in data && data.success);
    const events = builder.events.map((event) =>
      event === end ? ({ ...event, data: { ...event.data, unclearCalls: 1 } } as typeof event) : event,
    );
    await givenEvents(shop.db, events);
    await expect(exporting()).rejects.toThrow('1 trajectories have captured calls next to their path');
    const kept = await exporting({ query: { ...everyTrajectory, unclear: 'keep' } });
    expect(kept.manifest.counts).toMatchObject({ good: 1, unclear: 1 });
    await expect(exporting({ query: { ...everyTrajectory, unclear: 'drop' } })).rejects.toMatchObject({
      code: 'nothing-matches',
    });
  });

  async function exporting(change: Partial<RowExportOptions> = {}) {
    const out = change.out ?? shop.path('rows.jsonl');
    const manifest = await exportRows({
      db: shop.db,
      blobs: shop.blobs,
      query: everyTrajectory,
      format: XTUNER,
      parameters: KEEP,
      general: null,
      existing: 'replace',
      codeVersion: 'test',
      waitMs: 2_000,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      ...change,
      out,
    });
    if (out.endsWith('.parquet')) return { rows: [], manifest };
    const rows: unknown[] = (await readFile(out, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    return { rows, manifest };
  }
});

/** The types of a value as readers of JSON lines find them: of a list that of its first item. */
function typesOf(value: unknown): unknown {
  if (Array.isArray(value)) return [typesOf(value[0])];
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, typesOf(each)]));
}
