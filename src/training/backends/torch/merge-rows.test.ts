import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { aggregationWeights, TOKEN_MEAN } from '../../../domain/training/losses/policy-loss.ts';
import { mergeRows, unmergedRows } from './pack-rows.ts';

const ids = (minLength: number) => fc.array(fc.nat({ max: 2 }), { minLength, maxLength: 4 });
const rollout = fc.record({
  opening: ids(1),
  turns: fc.array(fc.record({ sampled: ids(1), shown: ids(0), drifts: fc.boolean(), rejected: fc.boolean() }), {
    minLength: 1,
    maxLength: 5,
  }),
});

/** Steps of rollouts, some of whose prompts do not continue. */
const rows = fc.array(rollout, { minLength: 1, maxLength: 4 }).map((rollouts) =>
  rollouts.flatMap(({ opening, turns }, r) => {
    let prompt: readonly number[] = opening;
    return turns.map(({ sampled, shown, drifts, rejected }, step) => {
      const packed = { prompt, sampled, trained: Uint8Array.from(sampled, () => Number(!rejected)) };
      prompt = [...(drifts ? [9] : []), ...prompt, ...sampled, ...shown];
      return { trajectory: `r${r}`, step, packed };
    });
  }),
);

describe('merged rows of random rollouts', () => {
  test('each row is found in its sequence behind its own prompt, and no token is trained twice', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const { sequences, members } = mergeRows(given);
        expect(members.flat()).toEqual([...given.keys()]);
        for (const [s, { prompt, sampled, trained }] of sequences.entries()) {
          const own = (members[s] ?? []).map((i) => given[i]);
          const last = own.at(-1)?.packed;
          expect([...prompt, ...sampled]).toEqual([...(last?.prompt ?? []), ...(last?.sampled ?? [])]);
          const kept = sampled.filter((_, t) => trained?.[t] === 1);
          expect(kept).toEqual(own.flatMap((row) => row?.packed.sampled.filter((_, t) => row.packed.trained[t] === 1) ?? []));
        }
      }),
    );
  });

  test('a column that is spread over the sequences and taken from them is the column of the rows', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const column = given.map(({ packed }, i) => Float64Array.from(packed.sampled, (id, t) => 100 * i + 10 * t + id + 1));
        for (const merged of [mergeRows(given), unmergedRows(given.map(({ packed }) => packed))])
          expect(merged.split(merged.spread(column))).toEqual(column);
      }),
    );
  });

  test('every token has the advantage and the share of the loss that it has in the row of its step', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const merged = mergeRows(given);
        const advantages = given.map(({ packed }, i) => Float64Array.from(packed.sampled, (_, t) => i - t / 2));
        const shares = (masks: readonly Uint8Array[]) => aggregationWeights(masks, TOKEN_MEAN);
        const bySteps = shares(given.map(({ packed }) => packed.trained));
        const bySequences = merged.split(shares(merged.sequences.map(({ trained = new Uint8Array() }) => trained)));
        expect(bySequences).toEqual(bySteps);
        expect(merged.split(merged.spread(advantages))).toEqual(advantages);
      }),
    );
  });
});

test('steps of one conversation are one sequence, and a step that is missing between two of them parts it', () => {
  const row = (step: number, prompt: readonly number[], sampled: readonly number[]) => ({
    trajectory: 'r',
    step,
    packed: { prompt, sampled },
  });
  const [first, second, third] = [row(0, [1], [2]), row(1, [1, 2, 3], [4]), row(2, [1, 2, 3, 4, 5], [6])];
  expect(mergeRows([first, second, third]).sequences).toEqual([
    { prompt: [1], sampled: [2, 3, 4, 5, 6], trained: Uint8Array.of(1, 0, 1, 0, 1) },
  ]);
  expect(mergeRows([first, third]).members).toEqual([[0], [1]]);
});

test('a step whose prompt shows another picture on the same tokens is a sequence of its own, and a sequence shows what its last prompt shows', () => {
  const row = (step: number, prompt: readonly number[], pictures: readonly string[]) => {
    const shown = { step: `step ${step}`, tokens: prompt.length, pictures };
    return { trajectory: 'r', step, packed: { prompt, sampled: [7], shown } };
  };
  const [first, more, other] = [row(0, [1], ['a']), row(1, [1, 7, 2], ['a', 'b']), row(2, [1, 7, 2, 7, 3], ['c', 'b'])];
  const { sequences } = mergeRows([first, more, other]);
  expect(sequences.map(({ shown }) => shown)).toEqual([more.packed.shown, other.packed.shown]);
});
