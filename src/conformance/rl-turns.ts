import { z } from 'zod';
import type { LayoutTurn } from '../domain/training/rows/rollout-layout.ts';

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
