import { expect, test } from '@jest/globals';
import type { FeatureVector } from '../../../policies/linear/features.ts';
import { scoreOf } from '../../../policies/linear/softmax.ts';
import { STATE_BUCKETS, stateFeatures } from '../../../policies/linear/state-features.ts';
import type { StepRow } from '../step-row.ts';
import { valueSteps } from './critic.ts';

const GOAL = 'Who is the owner of the employer of Ada Lum?';
const CANDIDATES = ['<search>Ada Lum employer</search>', '<search>Ada Lum owner</search>', '<answer>Ada Lum</answer>'];
const AFTER = ['<search>Borg Mills owner</search>', ...CANDIDATES];
const SITUATION = { goal: GOAL, firstObservation: GOAL, history: [] };
const ROW: StepRow = {
  groupId: 'g',
  rolloutId: 'r',
  step: 0,
  situation: SITUATION,
  candidates: CANDIDATES,
  tokens: null,
  temperature: 1,
  reward: 0,
  stateHash: null,
  action: CANDIDATES[0] ?? '',
  end: 'truncated',
  version: 0,
  after: AFTER,
  observation: '<information>Doc 1: Ada Lum has the employer Borg Mills.</information>',
};
const END = { ...SITUATION, history: [{ action: ROW.action, observation: ROW.observation }] };

/** Values only what candidates say of a state: the evidence that they offer. */
function criticOfCandidates(): Float64Array {
  const critic = new Float64Array(STATE_BUCKETS);
  const add = ({ indices, values }: FeatureVector, scale: number) => {
    for (const [i, index] of indices.entries()) critic[index] = (critic[index] ?? 0) + scale * (values[i] ?? 0);
  };
  add(stateFeatures(END, AFTER), 1);
  add(stateFeatures(END, []), -1);
  return critic;
}
const bootstrapOf = (row: StepRow) =>
  valueSteps(criticOfCandidates(), [{ row, candidates: CANDIDATES, chosen: 0 }]).bootstraps[0];

test('a truncated end is valued like any other state, by its candidates', () => {
  const value = scoreOf(criticOfCandidates(), stateFeatures(END, AFTER));
  expect(value).toBeGreaterThan(0.5);
  expect(bootstrapOf(ROW)).toBe(value);
});

test('a terminated end has no value, whatever its candidates', () => {
  expect(bootstrapOf({ ...ROW, end: 'terminated' })).toBe(0);
});
