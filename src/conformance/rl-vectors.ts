import { z } from 'zod';
import type { Estimated } from '../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../domain/training/advantages/estimators.ts';
import { type RefusedOption, refuseOption } from '../domain/training/method-options.ts';
import type { LayoutTurn } from '../domain/training/rows/rollout-layout.ts';
import type { Masks, Rows } from '../domain/training/rows/rows.ts';
import { failed, type JudgedCase, passed, skipped, type VectorCheck } from './vector-check.ts';

const file = z.object({
  cases: z.array(
    z.object({
      id: z.string(),
      algorithm: z.string(),
      variant: z.string(),
      inputs: z.record(z.string(), z.unknown()),
      expected: z.record(z.string(), z.unknown()),
      note: z.string(),
    }),
  ),
});

/** A case of the vectors of reinforcement learning, its inputs still to be parsed. */
export type RlCase = z.infer<typeof file>['cases'][number];

/** Computes what a case expects: one entry for each name in `expected`. */
type ComputeRlCase = (given: RlCase) => Computed | Promise<Computed>;
type Computed = Readonly<Record<string, unknown>>;

/** Computes the cases of one algorithm. `variants` lists the names that choose what is computed; null where none does. */
interface RlAlgorithm {
  readonly compute: ComputeRlCase;
  readonly variants: readonly string[] | null;
}

/** The check of a vector file with the algorithms that it knows. */
export interface RlCheck extends VectorCheck {
  readonly algorithms: Readonly<Record<string, ComputeRlCase | RlAlgorithm>>;
}

/** Makes an algorithm whose variant chooses what is computed. A case of a variant that is not listed fails. */
export function byVariant(variants: Readonly<Record<string, ComputeRlCase>>): RlAlgorithm {
  const names = Object.keys(variants);
  return {
    variants: names,
    compute(given) {
      const compute = Object.hasOwn(variants, given.variant) ? variants[given.variant] : undefined;
      if (compute === undefined)
        throw new RangeError(
          `${given.algorithm} has no variant ${JSON.stringify(given.variant)}; there are ${names.join(' · ')}`,
        );
      return compute(given);
    },
  };
}

/**
 * Makes the check of one vector file from a function for each of its algorithms. The vectors are padded; here a padded place is a
 * token outside the mask.
 */
export function rlCheck(fileName: RegExp, algorithms: RlCheck['algorithms']): RlCheck {
  return {
    fileName,
    algorithms,
    async *judge({ json }) {
      for (const given of file.parse(json).cases) {
        const found = Object.hasOwn(algorithms, given.algorithm) ? algorithms[given.algorithm] : undefined;
        if (found === undefined) yield skipped(given.id, `not implemented yet: ${given.algorithm}`);
        else yield await judgeCase(given, typeof found === 'function' ? found : found.compute);
      }
    },
  };
}

const row = z.array(z.number()).transform((values) => Float64Array.from(values));

/** Rows of numbers. */
export const rowsShape = z.array(row).transform((rows): Rows => rows);

/** Rows of 0 and 1. */
export const masksShape = z
  .array(z.array(z.union([z.literal(0), z.literal(1)])))
  .transform((rows): Masks => rows.map((values) => Uint8Array.from(values)));

/** Every name of `expected` must be computed, and nothing else may be: a value that nobody compares proves nothing. */
async function judgeCase(given: RlCase, compute: ComputeRlCase): Promise<JudgedCase> {
  let actual: Computed;
  try {
    actual = await compute(given);
  } catch (error) {
    return failed(given.id, error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error));
  }
  const difference = findDifference(actual, given.expected, '');
  return difference === null ? passed(given.id) : failed(given.id, difference);
}

/** The tolerance that the vectors state: relative 1e-9 + absolute 1e-9. */
const TOLERANCE = 1e-9;

function findDifference(actual: unknown, expected: unknown, path: string): string | null {
  if (typeof expected === 'number' || expected === 'NaN') return findGap(actual, Number(expected), path);
  if (Array.isArray(expected)) {
    const items = isListLike(actual) ? Array.from(actual) : null;
    if (items === null || items.length !== expected.length) return differenceText(path, actual, expected);
    return firstOf(expected.map((item, i) => () => findDifference(items[i], item, `${path}[${i}]`)));
  }
  if (isRecord(expected)) {
    if (!isRecord(actual)) return differenceText(path, actual, expected);
    const [names, computed] = [Object.keys(expected).sort(), Object.keys(actual).sort()];
    if (names.join() !== computed.join()) return `${path || 'the case'} has ${names}, computed were ${computed}`;
    return firstOf(names.map((name) => () => findDifference(actual[name], expected[name], path ? `${path}.${name}` : name)));
  }
  // Python's True is 1
  if (typeof expected === 'boolean' && typeof actual === 'number') return findGap(actual, Number(expected), path);
  return actual === expected ? null : differenceText(path, actual, expected);
}

function findGap(actual: unknown, expected: number, path: string): string | null {
  if (typeof actual !== 'number') return differenceText(path, actual, expected);
  if (Number.isNaN(expected)) return Number.isNaN(actual) ? null : differenceText(path, actual, 'NaN');
  return Math.abs(actual - expected) <= TOLERANCE * (1 + Math.abs(expected)) ? null : differenceText(path, actual, expected);
}

function firstOf(differences: readonly (() => string | null)[]): string | null {
  for (const find of differences) {
    const difference = find();
    if (difference !== null) return difference;
  }
  return null;
}

function isListLike(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

function differenceText(path: string, actual: unknown, expected: unknown): string {
  return `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual) ?? String(actual)}`;
}

const names = z.array(z.string());
const numbers = z.array(z.number());
const shape = z.object({
  token_level_rewards: rowsShape,
  response_mask: masksShape,
  index: names.optional(),
  trajectory_uids: names.optional(),
  traj_index: names.optional(),
  step_indices: numbers.optional(),
  values: rowsShape.optional(),
  anchor_obs: names.optional(),
  reward_baselines: numbers.optional(),
});

/**
 * Returns a case to the estimator that runs would use, through the registry. Rows without a group or a trajectory are one group,
 * each row its own trajectory.
 */
export function estimateCase(
  { inputs }: RlCase,
  estimator: string,
  options: Readonly<Record<string, unknown>>,
): Estimated | RefusedOption {
  const configured = configureEstimator(estimator, options);
  if (configured.kind === 'refused') return refuseOption(configured.reason);
  const { token_level_rewards: rewards, response_mask: masks, ...columns } = shape.parse(inputs);
  const trajectories = columns.trajectory_uids ?? columns.traj_index ?? rewards.map((_, row) => `row ${row}`);
  const seen = new Map<string, number>();
  const inOrder = trajectories.map((trajectory) => {
    const step = seen.get(trajectory) ?? 0;
    seen.set(trajectory, step + 1);
    return step;
  });
  return configured.estimator.estimate({
    rewards,
    masks,
    trajectories,
    groups: columns.index ?? rewards.map(() => 'all'),
    steps: columns.step_indices ?? inOrder,
    values: columns.values ?? null,
    anchors: columns.anchor_obs ?? null,
    bootstraps: null,
    stepRewards: null,
    stepParts: null,
    greedyScores: columns.reward_baselines ?? null,
    oldLogProbs: null,
    squaredProbs: null,
    rolloutWeights: null,
  });
}

const ids = z.array(z.int());
const ENVIRONMENT = /tool|obs|env|user/i;

/** A turn whose parts are distinguished by place: what was sampled, then what was answered, which the last turn may lack. */
const pair = z
  .tuple([ids])
  .rest(ids.nullable())
  .transform(([sampled, answered]): LayoutTurn => ({ sampled, answered: answered ?? [] }));

/** A turn, or one part of it, whose parts are distinguished by names: those of the environment say so. */
const named = z.record(z.string(), z.union([ids.nullable(), z.string()])).transform((parts): LayoutTurn => {
  const entries = Object.entries(parts);
  const allAnswered = entries.some(([, value]) => typeof value === 'string' && ENVIRONMENT.test(value));
  const idsOf = (answered: boolean) =>
    entries.flatMap(([name, value]) =>
      (allAnswered || ENVIRONMENT.test(name)) === answered && Array.isArray(value) ? value : [],
    );
  return { sampled: idsOf(false), answered: idsOf(true) };
});

/** Reads the turns of a rollout's layout, however a case writes them; parts in turn are the model's and the environment's. */
export const turnsShape = z.union([
  z.array(z.union([pair, named])),
  z.array(ids).transform((parts) => parts.map((part, i): LayoutTurn => (i % 2 === 0 ? asSampled(part) : asAnswered(part)))),
]);

function asSampled(sampled: readonly number[]): LayoutTurn {
  return { sampled, answered: [] };
}

function asAnswered(answered: readonly number[]): LayoutTurn {
  return { sampled: [], answered };
}

/**
 * Marks the tokens of a padded response up to and with its first end token; a response without one counts whole.
 * Source: verl `get_response_mask`. Recorded rows need none: they hold the ids that were sampled, and nothing after
 * them. @param ends the token ids that end a response, such as EOS.
 */
export function maskUntilEnd(ids: ArrayLike<number>, ends: readonly number[]): Uint8Array {
  const mask = new Uint8Array(ids.length);
  for (const [t, id] of Array.from(ids).entries()) {
    mask[t] = 1;
    if (ends.includes(id)) break;
  }
  return mask;
}
