import { z } from 'zod';
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
export type ComputeRlCase = (given: RlCase) => Computed | Promise<Computed>;
type Computed = Readonly<Record<string, unknown>>;

/** Computes the cases of one algorithm. `variants` lists the names that choose what is computed; null where none does. */
export interface RlAlgorithm {
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
