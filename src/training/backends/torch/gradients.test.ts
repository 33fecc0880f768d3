import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { KL_KINDS } from '../../../domain/training/kl/kl-penalty.ts';
import { actorLoss } from '../../../domain/training/losses/actor-loss.ts';
import {
  AGGREGATION_MODES,
  type AggregationMode,
  type PolicyLossInput,
  TOKEN_MEAN,
} from '../../../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss, POLICY_LOSSES } from '../../../domain/training/losses/policy-losses.ts';

const FILE = 'python/tests/gradients.json'; // what the Python tests compare autograd with
const KL_COEFFICIENT = 0.3;

/** Two rows of four columns, off every kink: tokens below, within and above each clip, of both signs, and masked ones. */
const COLUMNS = {
  logProbs: [
    [-1.2, -0.3, -2.5, -0.9],
    [-0.4, -3.1, -1.7, -0.2],
  ],
  oldLogProbs: [
    [-1, -0.9, -1.1, -0.85],
    [-0.45, -1.2, -3.3, -0.2],
  ],
  refLogProbs: [
    [-1.1, -0.5, -2.1, -1.4],
    [-0.6, -2.2, -2.8, -0.3],
  ],
  advantages: [
    [0.8, 1.3, -0.7, -1.9],
    [-0.5, 0.6, -1.4, 2],
  ],
  masks: [
    [1, 1, 1, 1],
    [1, 0, 1, 0],
  ],
} as const;

describe('gradients used by the Python tests', () => {
  test('the stored gradients equal those of src/domain/training', async () => {
    // To write them again: print `recorded` into the file.
    const defaults = Object.fromEntries(Object.keys(POLICY_LOSSES).map((name) => [name, configured(name).mode]));
    const recorded = {
      ...COLUMNS,
      defaults,
      defaultAggregation: TOKEN_MEAN.mode,
      klCoefficient: KL_COEFFICIENT,
      cases: Object.keys(POLICY_LOSSES).flatMap(casesOf),
    };
    expect(JSON.parse(await readFile(FILE, 'utf8'))).toEqual(recorded);
  });
});

function casesOf(loss: string, index: number) {
  return AGGREGATION_MODES.map((aggregation, i) => {
    const kl = KL_KINDS[(index + i) % KL_KINDS.length] ?? 'k1';
    const { value, gradient } = evaluate(loss, aggregation, kl);
    return { loss, aggregation, kl, value, gradient };
  });
}

function evaluate(name: string, mode: AggregationMode, kind: (typeof KL_KINDS)[number]) {
  const rows = (column: readonly (readonly number[])[]) => column.map((row) => Float64Array.from(row));
  const input: PolicyLossInput = {
    logProbs: rows(COLUMNS.logProbs),
    oldLogProbs: rows(COLUMNS.oldLogProbs),
    advantages: rows(COLUMNS.advantages),
    masks: COLUMNS.masks.map((row) => Uint8Array.from(row)),
    weights: null,
  };
  const kl = { kind, coefficient: KL_COEFFICIENT, refLogProbs: rows(COLUMNS.refLogProbs) };
  const found = actorLoss(configured(name), input, { entropies: null, entropyCoefficient: 0, kl }, { ...TOKEN_MEAN, mode });
  if (found.kind === 'refused') throw new Error(found.reason);
  return { value: found.loss, gradient: found.gradient.map((row) => [...row]) };
}

/** A loss as a declaration that names no option of it configures it. */
function configured(name: string) {
  const found = configurePolicyLoss(name, {});
  if (found.kind === 'refused') throw new Error(found.reason);
  return found.policyLoss;
}
