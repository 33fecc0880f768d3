import { describe, expect, test } from '@jest/globals';
import { type Divergence, type Replay, replayedPairs } from '../../studio/src/diff/replayed.ts';
import type { Step } from '../../studio/src/diff/sides.ts';
import { biasOf } from '../../studio/src/discarded/bias.ts';
import { count } from '../../studio/src/parts/format.ts';
import { curvesOf } from '../../studio/src/training/curves.ts';
import { flowOf } from '../../studio/src/training/flow.ts';
import { trainedBy } from '../../studio/src/training/trained-by.ts';
import { outlinesOf } from '../../studio/src/trajectories/outlines.ts';
import { tokenRows } from '../../studio/src/trajectories/token-rows.ts';
import { subtreeOf } from '../../studio/src/trees/subtree.ts';

test('a count of one is named in the singular, any other in the plural', () => {
  expect([0, 1, 1_200].map((value) => count(value, 'step'))).toEqual(['0 steps', '1 step', '1,200 steps']);
  expect([1, 2].map((value) => count(value, 'leaf', 'leaves'))).toEqual(['1 leaf', '2 leaves']);
});

describe('what is discarded', () => {
  test('a part is marked where the interval over its groups does not hold the share of all', () => {
    expect(biasOf({ produced: 600, discarded: 600, groups: 100 }, 0.5)).toBe('more often');
    expect(biasOf({ produced: 600, discarded: 60, groups: 100 }, 0.5)).toBe('less often');
    expect(biasOf({ produced: 600, discarded: 310, groups: 100 }, 0.5)).toBe('as the rest');
  });

  test('a single group is no bias, however many samples it has', () => {
    expect(biasOf({ produced: 64, discarded: 64, groups: 1 }, 0.5)).toBe('cannot be said');
    expect(biasOf({ produced: 0, discarded: 0, groups: 0 }, 0.5)).toBe('cannot be said');
  });
});

describe('the flow of the ledger', () => {
  test('each part has a row, and rows are at least a line high', () => {
    const branch = (name: string, samples: number) => ({ name, samples, kind: 'good' as const });
    const { ribbons, height } = flowOf([branch('many', 990), branch('none', 0), branch('few', 10)]);
    expect(ribbons.map(({ branch: { name } }) => name)).toEqual(['many', 'few']);
    expect(Math.min(...ribbons.map(({ row }) => row))).toBeGreaterThanOrEqual(26);
    expect(ribbons.reduce((sum, { row }) => sum + row, 0)).toBe(height);
    expect(flowOf([])).toEqual({ ribbons: [], height: 0 });
  });
});

describe('curves', () => {
  const outcome = { successRate: 0.5, meanReturn: 0.25, staleness: 1, tokensPerSecond: 9 };
  const version = (metrics: object) => ({
    version: 1,
    updatedAt: '',
    samples: 1,
    weights: '',
    batch: null,
    metrics: metrics as Readonly<Record<string, number>>,
  });

  test('what an update did not measure is taken from its samples, and what is looked at first is in front', () => {
    const curves = curvesOf([
      { id: 'a', versions: [version({ loss: 1, entropy: 2, zeal: 3 })], outcomes: [{ version: 1, outcome }] },
    ]);
    const names = ['success', 'return', 'entropy', 'staleness', 'tokens per second', 'loss', 'zeal'];
    expect(curves.map(([name]) => name)).toEqual(names);
    expect(curves[1]?.[1]).toMatchObject([{ series: 'a', x: 1, y: 0.25 }]);
  });

  test('a figure that updates measured is theirs alone', () => {
    const curves = curvesOf([{ id: 'a', versions: [version({ return: 7 })], outcomes: [{ version: 1, outcome }] }]);
    expect(curves.find(([name]) => name === 'return')?.[1]).toHaveLength(1);
    expect(curves.find(([name]) => name === 'return')?.[1]).toMatchObject([{ y: 7 }]);
  });
});

describe('a subtree', () => {
  const leaf = (...ids: readonly string[]) => ({ chain: ids.map((id) => ({ id })), children: [] });
  const a = leaf('a', 'a1', 'a2');
  const root = { chain: [{ id: 'root' }], children: [a, leaf('b')] };
  const rollouts = [
    { leafId: 'a2', success: true, return: 1 },
    { leafId: 'b', success: false, return: 0 },
    { leafId: null, success: null, return: null },
  ];

  test('it is summed up with the steps of collapsed chains', () => {
    expect(subtreeOf(root, rollouts)).toEqual({
      steps: 4,
      leaves: 2,
      depth: 3,
      rollouts: 2,
      judged: 2,
      successes: 1,
      meanReturn: 0.5,
      bestReturn: 1,
    });
    expect(subtreeOf(a, rollouts)).toMatchObject({ steps: 0, leaves: 1, rollouts: 1, successes: 1, meanReturn: 1 });
  });

  test('a node that no rollout passed has no return', () => {
    expect(subtreeOf(leaf('root'), [])).toMatchObject({ steps: 0, leaves: 1, meanReturn: null, bestReturn: null });
  });
});

describe('segments of a history image', () => {
  const segment = (place: number, height: number | null) => ({
    id: String(place),
    place,
    hit: place === 0,
    text: '',
    height,
    forgotten: false,
    largeTexts: [],
  });
  const image = {
    id: '',
    url: '',
    factor: 4,
    visionTokens: 1,
    textTokens: 2,
    saved: 1,
    hits: 1,
    misses: 1,
    cutLines: 0,
    cutSegments: 0,
    unshaped: 0,
    width: 110,
    height: 80,
    raw: { width: 200, height: 100 },
    resized: { width: 100, height: 50 },
    renderSpec: { spec: { border: 5 } },
  };

  test('they are outlined as they are stacked, at the scale of the image and within its border', () => {
    const outlines = outlinesOf({ ...image, segments: [segment(0, 60), segment(1, 40)] });
    expect(outlines.map(({ segment: _, ...place }) => place)).toEqual([
      { left: 5, top: 5, width: 100, height: 30 },
      { left: 5, top: 35, width: 100, height: 20 },
    ]);
  });

  test('what a limit left out is a line above them, and what is not known is not outlined', () => {
    const cut = outlinesOf({ ...image, cutSegments: 1, segments: [segment(0, 60), segment(1, 80)] });
    expect(cut.map(({ segment: { place }, top, height }) => ({ place, top, height }))).toEqual([
      { place: 1, top: 15, height: 40 },
    ]);
    expect(outlinesOf({ ...image, segments: [segment(0, null)] })).toEqual([]);
  });
});

const packed = (dtype: string, values: Int32Array | Float32Array | Uint8Array) => ({
  dtype,
  length: values.length,
  base64: Buffer.from(values.buffer).toString('base64'),
});

test('a token has the advantage and the new log-prob of its own, which those that the policy did not sample have not', () => {
  const rows = tokenRows({
    id: 's',
    tokenTexts: ['a', 'b', 'c'],
    policySpans: [],
    tokens: {
      ids: packed('int32', Int32Array.of(1, 2, 3)),
      logProbs: packed('float32', Float32Array.of(-0.5, 0, -1)),
      mask: packed('uint8', Uint8Array.of(1, 0, 1)),
      entropies: null,
    },
    estimate: { advantage: 0.5, value: null, target: null, tokenAdvantages: [0.25, 0.75], newLogProbs: [-0.25, -1.5] },
  });
  expect(rows.map(({ text, trained, advantage, entropy }) => [text, trained, advantage, entropy])).toEqual([
    ['a', true, 0.25, null],
    ['b', false, null, null],
    ['c', true, 0.75, null],
  ]);
  expect(rows.map(({ newLogProb, change }) => [newLogProb, change])).toEqual([
    [-0.25, 0.25],
    [null, null],
    [-1.5, -0.5],
  ]);
});

test('what is computed again of a step with one token holds where nothing is recorded of the token', () => {
  const tokens = { ids: packed('int32', Int32Array.of(7)), logProbs: packed('float32', Float32Array.of(-0.5)) };
  const estimate = { advantage: 1, value: null, target: null, tokenAdvantages: null, newLogProbs: null };
  const step = { id: 's', tokenTexts: ['a'], policySpans: [], tokens: { ...tokens, mask: null, entropies: null }, estimate };
  const again = { before: { logProb: -0.75, entropy: 0.5 }, after: { logProb: -0.25, entropy: 0.25 } };
  const figures = (given?: typeof again) =>
    tokenRows(step, given).map(({ entropy, newLogProb, change }) => [entropy, newLogProb, change]);
  expect(figures(again)).toEqual([[0.5, -0.25, 0.25]]);
  expect(figures()).toEqual([[null, null, null]]);
});

test('samples train the policy that the configuration of their run names, on the channel for training alone', () => {
  expect(trainedBy({ training: { policyId: 'mine', channel: 'train' } })).toBe('mine');
  for (const config of [null, undefined, 'text', {}, { training: null }, { training: { policyId: 'mine', channel: 'held-out' } }])
    expect(trainedBy(config)).toBeNull();
});

test('a trajectory is shown next to what the last replay showed of each step', () => {
  const step: Step = { id: 's', depth: 1, thought: '', action: 'go', observation: 'here', largeTexts: [], rewards: [] };
  const divergence = { stepId: 's', field: 'observation', recorded: 'here', occurredAt: '', largeTexts: [] };
  const pairs = replayedPairs(
    [step, { ...step, id: 't' }],
    [
      { ...divergence, id: '1', replayed: 'there' },
      { ...divergence, id: '2', replayed: 'nowhere' },
      { ...divergence, id: '3', field: 'reward', recorded: '1', replayed: '0' },
    ],
    undefined,
  );
  expect(pairs.map(({ equal }) => equal)).toEqual([false, true]);
  expect(pairs[0]?.b).toMatchObject({
    observation: 'nowhere',
    notes: ['reward 1 → 0'],
    rewards: [{ component: 'as replayed', value: 0 }],
  });
  expect(pairs[0]?.a).toMatchObject({ observation: 'here', notes: [], rewards: [] });
});

describe('what an earlier replay showed otherwise', () => {
  const step: Step = { id: 's', depth: 1, thought: '', action: 'go', observation: 'here', largeTexts: [], rewards: [] };
  const path = [{ ...step, id: 'root', depth: 0 }, step, { ...step, id: 't', depth: 2 }];
  const divergence = {
    id: '1',
    stepId: 's',
    field: 'observation',
    recorded: 'here',
    replayed: 'there',
    largeTexts: [],
    occurredAt: '2026-01-01T00:00:00.000Z',
  };
  const replay: Replay = {
    id: 'r',
    mode: 'environment',
    outcome: 'equal',
    compared: 3,
    differing: 0,
    notes: [],
    differences: [],
    finishedAt: '2026-01-02T00:00:00.000Z',
  };
  const seen = (divergences: readonly Divergence[], last: Replay) =>
    replayedPairs(path, divergences, last).map(({ b }) => b?.observation);
  const other = { stepId: 't', field: 'observation', recorded: 'here', replayed: 'gone' };
  const differing = (...differences: Replay['differences']) => ({
    ...replay,
    outcome: 'differs' as const,
    differing: differences.length,
    differences,
  });

  test('it is no difference any more where the last replay of the run came out equal, or otherwise elsewhere alone', () => {
    expect(seen([divergence], replay)).toEqual(['here', 'here', 'here']);
    expect(seen([divergence], differing(other))).toEqual(['here', 'here', 'gone']);
  });

  test('it stays where it was seen after that replay, or that replay does not say of every step how it came out', () => {
    const later = { ...divergence, occurredAt: '2026-01-03T00:00:00.000Z' };
    expect(seen([later], replay)).toEqual(['here', 'there', 'here']);
    expect(seen([divergence], { ...differing(other), differing: 21 })).toEqual(['here', 'there', 'gone']);
    expect(seen([divergence], differing({ ...other, field: 'termination' }))).toEqual(['here', 'there', 'here']);
  });

  test('a large text that came out is shown with its size, and one that a report cut with its length', () => {
    const large = { ...divergence, largeTexts: [{ field: 'replayed', sha256: 'e', size: 100_000 }] };
    const [, shown] = replayedPairs(path, [large], undefined);
    expect(shown?.b?.largeTexts).toEqual([{ field: 'observation', sha256: 'e', size: 100_000 }]);
    const [, , cut] = replayedPairs(path, [], differing({ ...other, replayed: 'x'.repeat(2_000) }));
    expect(cut?.b?.notes).toEqual(['of the observation the first 2000 characters are on record']);
  });
});
