import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { createRandom } from '../domain/random/random.ts';
import { configureEstimator, ESTIMATORS } from '../domain/training/advantages/estimators.ts';
import { adjustController, type KlKind, tokenKl } from '../domain/training/kl/kl-penalty.ts';
import { entropyOfLogits } from '../domain/training/losses/actor-loss.ts';
import { aggregate, aggregationWeights } from '../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss, POLICY_LOSSES } from '../domain/training/losses/policy-losses.ts';
import { valueLoss } from '../domain/training/losses/value-loss.ts';
import { buildRows } from '../domain/training/rows/rows.ts';
import { givenBatch, givenRows } from '../domain/training/training-testing.ts';
import { consumersForTests } from '../testing/python.ts';
import { declaredDefaults } from './declared-defaults.ts';

const packages = await consumersForTests();
const WIDTH = 6;
const ONE_TURN = 10; // of the batches; those after them have several turns

interface Batch {
  readonly rewards: number[][];
  readonly masks: number[][];
  readonly values: number[][];
  readonly predictions: number[][];
  readonly returns: number[][];
  readonly logits: number[][];
  readonly oldLogProbs: number[][];
  readonly logProbs: number[][];
  readonly squaredProbs: number[][];
  readonly groups: string[];
  readonly greedyScores: number[];
}

/**
 * Two groups of four responses of 1 to 6 tokens, each with a score on its last token. Of several turns: with tokens between them
 * that nobody sampled.
 */
function someBatch(seed: number, turns: 'one' | 'several'): Batch {
  const random = createRandom(seed);
  const lengths = Array.from({ length: 8 }, () => 1 + Math.floor(random.next() * WIDTH));
  const rows = (value: (t: number, length: number) => number) =>
    lengths.map((length) => Array.from({ length: WIDTH }, (_, t) => (t < length ? value(t, length) : 0)));
  return {
    masks: rows((t, length) => (turns === 'several' && t > 0 && t < length - 1 && t % 3 !== 0 ? 0 : 1)),
    rewards: rows((t, length) => (t === length - 1 ? Math.floor(random.next() * 5) / 4 : 0)),
    values: rows(() => random.next() - 0.5),
    predictions: rows(() => 2 * random.next() - 1),
    returns: rows(() => 2 * random.next() - 1),
    logits: rows(() => 4 * random.next()),
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

/** Where our default is another one than verl's: what verl's would be declared as, and where ours is from. */
const OTHER_DEFAULTS: Readonly<Record<string, { readonly options: Readonly<Record<string, number>>; readonly source: string }>> =
  {
    gspo: {
      options: { clipLow: 0.2, clipHigh: 0.2 },
      source: 'Zheng et al. 2025, §5.1: 3e-4 and 4e-4, which the recipes of verl set and its configuration does not',
    },
  };

/** Estimators that take tokens between turns otherwise than verl 0.9, with the reason. */
const OTHER_OVER_TURNS: Readonly<Record<string, string>> = {
  reinforce_plus_plus: 'verl resets the return where a token is masked (issue 7278); ours is the repair of its pull request 7300',
  "verl's optimal_token_baseline":
    'it is the form for one turn; ours by default is the one for several, tir_optimal_token_baseline',
};

/** verl's names of KL estimates. */
const KL_OF_VERL: Readonly<Record<string, KlKind>> = {
  kl: 'k1',
  abs: 'abs',
  mse: 'k2',
  low_var_kl: 'k3',
  'k1+': 'k1+',
  'k3+': 'k3+',
};

interface Gradient {
  readonly value: number;
  readonly gradient: number[][];
}

interface Answer {
  readonly valueLosses: readonly (Gradient & { readonly clipFraction: number })[];
  readonly kl: Readonly<Record<string, readonly Gradient[]>>;
  readonly entropies: number[][];
  readonly controller: {
    readonly type: string;
    readonly target: number;
    readonly horizon: number;
    readonly start: number;
    readonly adaptive: number[];
  };
  readonly actor: Readonly<Record<string, unknown>>;
  readonly forms: Readonly<Record<string, number[][][]>>;
  /** Of the registries of verl. */
  readonly notCompared: { readonly estimators: string[]; readonly losses: string[] };
  readonly estimators: Readonly<Record<string, number[][][]>>;
  readonly losses: Readonly<Record<string, readonly Gradient[]>>;
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
  const { lossOptions, aggregation } = declaredDefaults(name);
  const configured = configurePolicyLoss(name, { ...lossOptions, ...OTHER_DEFAULTS[name]?.options });
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const input = {
    logProbs: givenRows(logProbs),
    oldLogProbs: givenRows(oldLogProbs),
    advantages: givenRows(values),
    masks: masks.map((row) => Uint8Array.from(row)),
    weights: null,
  };
  const found = configured.policyLoss.evaluate(input, aggregation);
  if (found.kind === 'refused') throw new Error(found.reason);
  return { value: found.loss, gradient: found.gradient.map((row) => [...row]) };
}

function valueLossOf({ masks, predictions, values, returns }: Batch) {
  const { critic, aggregation } = declaredDefaults();
  const columns = { predictions: givenRows(predictions), values: givenRows(values), returns: givenRows(returns) };
  const { loss, gradient, clipFraction } = valueLoss({ ...columns, masks: masksOf(masks) }, critic, aggregation);
  return { value: loss, gradient: gradient.map((row) => [...row]), clipFraction };
}

function klOf(kind: KlKind, { masks, logProbs, oldLogProbs }: Batch) {
  const shares = aggregationWeights(masksOf(masks), declaredDefaults().aggregation);
  const of = (row: number, t: number) => tokenKl(kind, logProbs[row]?.[t] ?? 0, oldLogProbs[row]?.[t] ?? 0);
  const value = aggregate(
    buildRows(masksOf(masks), (row, t) => of(row, t).value),
    shares,
  );
  return { value, gradient: shares.map((row, i) => Array.from(row, (share, t) => (share === 0 ? 0 : share * of(i, t).slope))) };
}

const masksOf = (masks: readonly (readonly number[])[]) => masks.map((row) => Uint8Array.from(row));
const close = (rows: readonly (readonly number[])[]) => rows.map((row) => row.map((value) => expect.closeTo(value, 5)));

(packages.kind === 'found' ? describe : describe.skip)(
  `declared defaults against verl's own (${packages.kind === 'found' ? packages.versions : `skipped: ${packages.reason}`})`,
  () => {
    test('every estimator and loss that both have yields by its defaults what verl yields, and what one of them has alone is listed', async () => {
      const batches = Array.from({ length: 20 }, (_, seed) => someBatch(seed, seed < ONE_TURN ? 'one' : 'several'));
      const verl = await verlOf(batches);
      const compared = [
        ...Object.entries(verl.estimators).map(([name, found]) => ({ name, found, own: name, options: {} })),
        ...Object.entries(verl.forms).map(([name, found]) => {
          const [own, options] = FORMS[name] ?? [name, {}];
          return { name: `verl's ${name}`, found, own, options };
        }),
      ];
      for (const { name, found, own, options } of compared)
        for (const [i, batch] of batches.entries()) {
          const expected = { name, i, advantages: close(found[i] ?? []) };
          if (i < ONE_TURN || !Object.hasOwn(OTHER_OVER_TURNS, name))
            expect({ name, i, advantages: advantagesOf(own, options, batch) }).toEqual(expected);
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
      for (const [name, { options }] of Object.entries(OTHER_DEFAULTS))
        for (const [option, value] of Object.entries(options)) {
          expect([name, option, value]).toEqual([name, option, verl.actor[option]]);
          expect(POLICY_LOSSES[name]?.options[option]?.default).not.toBe(value); // else it is no other default
        }
      for (const [i, batch] of batches.entries()) {
        const { value, gradient, clipFraction } = verl.valueLosses[i] ?? {
          value: Number.NaN,
          gradient: [],
          clipFraction: Number.NaN,
        };
        const own = valueLossOf(batch);
        expect([i, own.value, own.clipFraction]).toEqual([i, expect.closeTo(value, 6), expect.closeTo(clipFraction, 6)]);
        expect(own.gradient).toEqual(close(gradient));
        expect([givenRows(batch.logits).map((row) => entropyOfLogits(row))]).toEqual(close([verl.entropies[i] ?? []]));
        for (const [kind, ours] of Object.entries(KL_OF_VERL)) {
          const found = verl.kl[kind]?.[i] ?? { value: Number.NaN, gradient: [] };
          expect({ kind, i, ...klOf(ours, batch) }).toEqual({
            kind,
            i,
            value: expect.closeTo(found.value, 6),
            gradient: close(found.gradient),
          });
        }
      }
      const { target, horizon, start, adaptive, type } = verl.controller;
      let controller = { kind: 'adaptive', beta: start, target, horizon } as Parameters<typeof adjustController>[0];
      const coefficients = [
        [0.5, 64],
        [0.01, 128],
        [0.1, 64],
      ].map(([kl = 0, rows = 0]) => {
        controller = adjustController(controller, kl, rows);
        return controller.beta;
      });
      expect([coefficients, type]).toEqual([...close([adaptive]), 'fixed']);
      const { aggregation, entropyCoefficient, kl } = declaredDefaults();
      expect({ aggregation: aggregation.mode, entropyCoefficient, usesKl: kl !== null }).toMatchObject({
        aggregation: verl.actor.aggregation,
        entropyCoefficient: verl.actor.entropyCoefficient,
        usesKl: verl.actor.usesKl,
      });
    }, 300_000);
  },
);
