import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sharedTokens } from '../../prompts/same-message.ts';
import { type TokenStep, type TrajectoryRow, trajectoryRows } from './trajectory-rows.ts';

const ids = fc.array(fc.nat({ max: 3 }), { maxLength: 6 }); // few ids, so that texts repeat and prefixes nearly fit
const someIds = fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 6 });

/** What a turn samples, and how the prompt behind it goes on: as it was, or changed somewhere. */
const turn = fc.record({
  sampled: someIds,
  observation: ids,
  reward: fc.integer({ min: -8, max: 8 }).map((value) => value / 4),
  version: fc.nat({ max: 3 }),
  drift: fc.option(fc.record({ at: fc.nat(), kind: fc.constantFrom('other', 'shorter', 'longer') }), { freq: 2 }),
});
const conversation = fc.record({
  opening: someIds,
  turns: fc.array(turn, { minLength: 1, maxLength: 7 }),
  outcome: fc.constantFrom(0, 1),
});
type Conversation = typeof conversation extends fc.Arbitrary<infer T> ? T : never;

/** Records a conversation as a server would return it: whole prompts, some of them tokenised in another way than before. */
function recorded({ opening, turns }: Conversation): readonly (TokenStep & { readonly promptIds: Int32Array })[] {
  let prompt: readonly number[] = opening;
  return turns.map(({ sampled, observation, reward, version, drift }, k) => {
    const step = {
      promptIds: Int32Array.from(prompt),
      tokens: {
        ids: Int32Array.from(sampled),
        mask: new Uint8Array(sampled.length).fill(1),
        logProbs: Float32Array.from(sampled, (id) => -(id + k + 1)),
      },
      spans: [{ from: 0, to: sampled.length, policyId: 'p', version }],
      reward,
    };
    const following = [...prompt, ...sampled];
    prompt = drift ? [...drifted(following, drift), ...observation] : [...following, ...observation];
    return step;
  });
}

function drifted(following: readonly number[], { at, kind }: { readonly at: number; readonly kind: string }): readonly number[] {
  const place = at % following.length;
  const middle = kind === 'longer' ? [8, 9] : kind === 'other' ? [9] : [];
  return [...following.slice(0, place), ...middle, ...following.slice(place + (kind === 'longer' ? 0 : 1))];
}

function rowsOf(steps: readonly TokenStep[], outcome = 0): readonly TrajectoryRow[] {
  const found = trajectoryRows(steps, outcome);
  if (found.kind === 'missing') throw new Error(`step ${found.step}: ${found.what}`);
  return found.rows;
}
const where = (row: TrajectoryRow, mask: number) => (_: number, t: number) => row.mask[t] === mask;

describe('rows of random conversations with drift at random places', () => {
  test('each row with its prompt is exactly the recorded prompt and reply of its last step', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const steps = recorded(given);
        for (const row of rowsOf(steps)) {
          const last = steps[row.to - 1];
          expect([...(row.promptIds ?? []), ...row.ids]).toEqual([...(last?.promptIds ?? []), ...(last?.tokens?.ids ?? [])]);
        }
      }),
    );
  });

  test('the masks select exactly the sampled ids with their log-probs, and log-probs of shown tokens are 0', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const steps = recorded(given);
        const rows = rowsOf(steps);
        expect(rows.flatMap((row) => [...row.ids.filter(where(row, 1))])).toEqual(
          steps.flatMap((step) => [...(step.tokens?.ids ?? [])]),
        );
        expect(rows.flatMap((row) => [...(row.logProbs ?? []).filter(where(row, 1))])).toEqual(
          steps.flatMap((step) => [...(step.tokens?.logProbs ?? [])]),
        );
        for (const row of rows) expect([...(row.logProbs ?? []).filter(where(row, 0))].every((value) => value === 0)).toBe(true);
      }),
    );
  });

  test('a row is cut exactly where the prompt of a step does not begin with the prompt before and its reply', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const steps = recorded(given);
        const cuts = steps.flatMap(({ promptIds }, k) => {
          const before = steps[k - 1];
          if (!before) return [0];
          const following = [...before.promptIds, ...(before.tokens?.ids ?? [])];
          return sharedTokens(following, promptIds) < following.length ? [k] : [];
        });
        const rows = rowsOf(steps);
        expect(rows.map(({ from }) => from)).toEqual(cuts);
        expect(rows.map(({ to }) => to)).toEqual([...cuts.slice(1), steps.length]);
        expect(rows.map(({ cut }) => cut)).toEqual([...rows.keys()]);
      }),
    );
  });

  test('each reward is on the last sampled token of its step, the outcome on the last of all, and a span covers what its version sampled', () => {
    fc.assert(
      fc.property(conversation, (given) => {
        const steps = recorded(given);
        const rows = rowsOf(steps, given.outcome);
        for (const row of rows) {
          for (const [k, end] of row.ends.entries()) {
            const [place, step] = [row.from + k, steps[row.from + k]];
            expect([row.steps[end], row.mask[end], row.steps.lastIndexOf(place) >= end]).toEqual([place, 1, true]);
            expect(row.scores[end]).toBe((step?.reward ?? 0) + (place === steps.length - 1 ? given.outcome : 0));
            const span = row.spans[k];
            expect([...row.ids.subarray(span?.from, span?.to)]).toEqual([...(step?.tokens?.ids ?? [])]);
            expect(span?.version).toBe(given.turns[place]?.version);
          }
          const ends = new Set(row.ends);
          expect(row.scores.every((score, t) => score === 0 || ends.has(t))).toBe(true);
        }
      }),
    );
  });
});

const step = (sampled: readonly number[], part: Partial<TokenStep> = {}): TokenStep => ({
  promptIds: null,
  tokens: { ids: Int32Array.from(sampled), mask: new Uint8Array(sampled.length).fill(1), logProbs: null },
  spans: [],
  reward: 0,
  ...part,
});

describe('steps without ids', () => {
  test('a step that sampled nothing is named, and so is one whose observation nobody tokenised', () => {
    expect(trajectoryRows([step([1], { promptIds: Int32Array.of(0) }), step([2], { tokens: null })], 0)).toEqual({
      kind: 'missing',
      step: 1,
      what: 'sampled',
    });
    expect(trajectoryRows([step([1]), step([2])], 0)).toEqual({ kind: 'missing', step: 0, what: 'observation' });
  });

  test('a producer that records the ids of observations behind its own makes one row without a prompt', () => {
    const shown = step([], {
      tokens: { ids: Int32Array.of(1, 8), mask: Uint8Array.of(1, 0), logProbs: Float32Array.of(-1, -9) },
    });
    const [row, ...more] = rowsOf([shown, step([2])], 1);
    expect(more).toEqual([]);
    expect({ ...row, ids: [...(row?.ids ?? [])], mask: [...(row?.mask ?? [])], scores: [...(row?.scores ?? [])] }).toMatchObject({
      from: 0,
      to: 2,
      promptIds: null,
      ids: [1, 8, 2],
      mask: [1, 0, 1],
      scores: [0, 0, 1],
      ends: [0, 2],
      logProbs: null, // the second step has none: no zeros in their place
    });
  });

  test('a prompt behind one without ids begins a row: nothing says that it continues', () => {
    const rows = rowsOf([step([1]), step([2], { promptIds: Int32Array.of(5, 1, 6) })]);
    expect(rows.map(({ from, promptIds }) => [from, promptIds && [...promptIds]])).toEqual([
      [0, null],
      [1, [5, 1, 6]],
    ]);
  });

  test('a trajectory without steps has no row', () => {
    expect(rowsOf([])).toEqual([]);
  });
});
