import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { createRandom } from '../domain/random/random.ts';
import { configureEstimator, ESTIMATORS } from '../domain/training/advantages/estimators.ts';
import { TOKEN_MEAN } from '../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss, POLICY_LOSSES } from '../domain/training/losses/policy-losses.ts';
import { givenBatch, givenRows } from '../domain/training/training-testing.ts';
import { consumersForTests } from '../testing/python.ts';

const packages = await consumersForTests();
const WIDTH = 6;

interface Batch {
  readonly rewards: number[][];
  readonly masks: number[][];
  readonly values: number[][];
  readonly oldLogProbs: number[][];
  readonly logProbs: number[][];
  readonly squaredProbs: number[][];
  readonly groups: string[];
  readonly greedyScores: number[];
}

/** Two groups of four responses of 1 to 6 tokens, each with a score on its last token. */
function someBatch(seed: number): Batch {
  const random = createRandom(seed);
  const lengths = Array.from({ length: 8 }, () => 1 + Math.floor(random.next() * WIDTH));
  const rows = (value: (t: number, length: number) => number) =>
    lengths.map((length) => Array.from({ length: WIDTH }, (_, t) => (t < length ? value(t, length) : 0)));
  return {
    masks: rows(() => 1),
    rewards: rows((t, length) => (t === length - 1 ? Math.floor(random.next() * 5) / 4 : 0)),
    values: rows(() => random.next() - 0.5),
    oldLogProbs: rows(() => -0.1 - 2 * random.next()),
    logProbs: rows(() => -0.1 - 2 * random.next()),
    squaredProbs: rows(() => random.next()),
    groups: lengths.map((_, row) => `g${row % 2}`),
    greedyScores: lengths.map((_, row) => (row % 2) / 2),
  };
}

/** What of ours a name of verl is, where it is a form of another estimator. */
const FORMS: Readonly<Record<string, readonly [name: string, options: Readonly<Record<string, string>>]>> = {
  grpo_vectorized: ['grpo', { scale: 'floored-std' }],
  rloo_vectorized: ['rloo', { singleton: 'zero' }],
  optimal_token_baseline: ['optimal_token_baseline', {}], // whose default is verl's form for several turns
};

interface Answer {
  readonly forms: Readonly<Record<string, number[][][]>>;
  /** Of the registries of verl. */
  readonly notCompared: { readonly estimators: string[]; readonly losses: string[] };
  readonly estimators: Readonly<Record<string, number[][][]>>;
  readonly losses: Readonly<Record<string, { readonly value: number; readonly gradient: number[][] }[]>>;
}

async function verlOf(batches: readonly Batch[]): Promise<Answer> {
  const python = packages.kind === 'found' ? packages.python : '';
  const child = spawn(python, ['-W', 'ignore', '-m', 'tests_consumers.verl_defaults'], { cwd: 'python' });
  child.stdin.end(JSON.stringify(batches));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const last = stdout.trim().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) throw new Error(stderr.slice(-4_000));
  return JSON.parse(last) as Answer;
}

function advantagesOf(
  name: string,
  options: Readonly<Record<string, string>>,
  { masks, rewards, values, oldLogProbs, squaredProbs, groups, greedyScores }: Batch,
) {
  const configured = configureEstimator(name, options);
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const columns = { values: givenRows(values), oldLogProbs: givenRows(oldLogProbs), squaredProbs: givenRows(squaredProbs) };
  const found = configured.estimator.estimate(givenBatch(rewards, masks, { ...columns, groups, greedyScores }));
  if (found.kind === 'refused') throw new Error(found.reason);
  return found.advantages.map((row, i) => Array.from(row, (value, t) => value * (masks[i]?.[t] ?? 0)));
}

function lossOf(name: string, { masks, values, oldLogProbs, logProbs }: Batch) {
  const configured = configurePolicyLoss(name, {});
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const input = {
    logProbs: givenRows(logProbs),
    oldLogProbs: givenRows(oldLogProbs),
    advantages: givenRows(values),
    masks: masks.map((row) => Uint8Array.from(row)),
    weights: null,
  };
  const found = configured.policyLoss.evaluate(input, TOKEN_MEAN);
  if (found.kind === 'refused') throw new Error(found.reason);
  return { value: found.loss, gradient: found.gradient.map((row) => [...row]) };
}

const close = (rows: readonly (readonly number[])[]) => rows.map((row) => row.map((value) => expect.closeTo(value, 5)));

(packages.kind === 'found' ? describe : describe.skip)(
  `declared defaults against verl's own (${packages.kind === 'found' ? packages.versions : `skipped: ${packages.reason}`})`,
  () => {
    test('every estimator and loss that both have yields by its defaults what verl yields, and what one of them has alone is listed', async () => {
      const batches = Array.from({ length: 20 }, (_, seed) => someBatch(seed));
      const verl = await verlOf(batches);
      for (const [name, advantages] of Object.entries({ ...verl.estimators, ...verl.forms })) {
        const of = Object.hasOwn(verl.forms, name) ? FORMS[name] : undefined;
        const [own, options] = of ?? [name, {}];
        for (const [i, batch] of batches.entries())
          expect({ name, i, advantages: advantagesOf(own, options, batch) }).toEqual({
            name,
            i,
            advantages: close(advantages[i] ?? []),
          });
      }
      // GDPO takes several rewards of a row, as step_parts_grpo does with parts: decoupled; the losses are not ours
      expect(verl.notCompared).toEqual({
        estimators: ['gdpo'],
        losses: ['bypass_mode', 'clip_cov', 'dppo_kl', 'dppo_tv', 'dro', 'geo_mean', 'kl_cov'],
      });
      const alone = (ours: object, compared: object) => Object.keys(ours).filter((name) => !Object.hasOwn(compared, name));
      expect({ estimators: alone(ESTIMATORS, verl.estimators), losses: alone(POLICY_LOSSES, verl.losses) }).toEqual({
        estimators: ['reinforce_step', 'gigpo', 'step_parts_grpo'], // verl has none of these
        losses: ['clipped'], // verl always has the second bound of dual_clip
      });
      for (const [name, losses] of Object.entries(verl.losses))
        for (const [i, batch] of batches.entries()) {
          const { value, gradient } = losses[i] ?? { value: Number.NaN, gradient: [] };
          expect({ name, i, ...lossOf(name, batch) }).toEqual({
            name,
            i,
            value: expect.closeTo(value, 6),
            gradient: close(gradient),
          });
        }
    }, 300_000);
  },
);
