import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { keepTrained, readKept } from './learn-kept.ts';
import { ESTIMATORS, type Lesson, planOf, type Trained, WORLD_NAMES } from './learn-lesson.ts';
import { drawTrained, reportTrained } from './learn-report.ts';

const usual = { quick: false, measuredOn: 'test' as const, settings: {} };
const lesson = (own: Partial<Lesson> = {}): Lesson => ({ world: 'textcraft', estimator: 'ppo', seed: 1, ...own });
const learned = (success: number, own: Partial<Lesson> = {}): Trained => ({
  ...lesson(own),
  plan: planOf(lesson(own), usual),
  measured: [
    { version: 0, success: 0.25 },
    { version: 8, success },
  ],
  ledger: { produced: 512, trained: 500, difference: 0 },
  weights: 'a'.repeat(64),
  seconds: 1,
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-learn-test-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a training of the bench', () => {
  test('the plans of a world differ in their estimator alone, and use a discount where the estimator has one', () => {
    for (const world of WORLD_NAMES) {
      const plans = ESTIMATORS.map((estimator) => planOf(lesson({ world, estimator }), usual));
      const [, ppo, plusPlus] = plans.map(({ settings: { objective } }) =>
        objective.kind === 'policy-gradient' ? objective.estimator.options : {},
      );
      expect(ppo?.gamma).toBe(0.8);
      expect(plusPlus).toEqual({ gamma: 0.8 });
      const alike = plans.map(({ policyId: _, settings: { objective: __, ...settings }, ...rest }) => ({ ...rest, settings }));
      expect(new Set(alike.map((plan) => JSON.stringify(plan))).size).toBe(1);
    }
  });

  test('a training takes other settings by name and is measured where its plan says', () => {
    const plan = planOf(lesson(), { quick: true, measuredOn: 'train', settings: { learningRate: 0.3 } });
    expect(plan).toMatchObject({ updates: 2, evaluation: { split: 'train', every: 2 }, settings: { learningRate: 0.3 } });
    expect(() => planOf(lesson(), { ...usual, settings: { rate: 1 } })).toThrow('rate');
  });
});

describe('kept results', () => {
  test('a result is reused for an equal plan only, and never from a line that a kill truncated', async () => {
    const file = join(folder, 'kept.jsonl');
    const [first, second, other] = [learned(0.5), learned(0.75, { seed: 2 }), learned(1, { seed: 3 })];
    for (const each of [first, other, second]) await keepTrained(file, each);
    await appendFile(file, JSON.stringify(learned(1, { seed: 4 })).slice(0, 200));
    const plans = [first.plan, second.plan, learned(1, { seed: 4 }).plan];
    expect(await readKept(file, plans)).toEqual([first, second]);
    expect(await readKept(file, [{ ...first.plan, updates: 9 }])).toEqual([]);
    expect(await readKept(join(folder, 'none.jsonl'), plans)).toEqual([]);
  });
});

describe('the report', () => {
  test('the report has a row with an interval over seeds for every finished training, and none for others', () => {
    const lines = reportTrained([learned(0.5), learned(0.75, { seed: 2 })]).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(/^textcraft +ppo +2 +25\.0 \(25\.0–25\.0\) +62\.5 \(50\.0–75\.0\) +8 +1024 +1000 +0$/);
  });

  test('the report plots the finished estimators', () => {
    const svg = drawTrained([learned(0.5), learned(0.75, { seed: 2 })], 'textcraft');
    expect(svg).toContain('ppo');
    expect(svg).not.toContain('grpo');
  });
});
