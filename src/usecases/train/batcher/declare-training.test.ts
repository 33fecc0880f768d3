import { expect, test } from '@jest/globals';
import type { Appender, Draft } from '../../../append/appender.ts';
import { TEST_RULES } from '../../../testing/record-training.ts';
import { declareTraining } from './declare-training.ts';

async function declared(rules: Partial<typeof TEST_RULES>) {
  const drafts: Draft[] = [];
  const appender = {
    append: async (more: readonly Draft[]) => {
      drafts.push(...more);
    },
  } as unknown as Appender; // only `append` is called
  const estimator = { name: 'grpo', options: {} };
  await declareTraining(appender, { policyId: 'p', estimator, rules: { ...TEST_RULES, ...rules }, seed: 1, trainer: null });
  const [draft] = drafts;
  if (draft?.type !== 'TrainingDeclared') throw new Error('the training is declared');
  return draft.data.rules.rewards;
}

test('a declaration always names the trained components: the metric alone, or the requested ones', async () => {
  expect(await declared({})).toEqual({ environment: 1 });
  expect(await declared({ rewards: { environment: 0.5, tool: 1 } })).toEqual({ environment: 0.5, tool: 1 });
});

test('a declaration whose components lack the metric is refused, since groups are filtered by what they are trained on', async () => {
  await expect(declared({ rewards: { tool: 1 } })).rejects.toMatchObject({
    name: 'TrainingRefused',
    message: expect.stringContaining('rules.rewards: the metric environment'),
  });
});
