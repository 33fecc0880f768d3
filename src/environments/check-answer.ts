import { z } from 'zod';
import { isAmount } from '../domain/reward/amount.ts';
import { admissibleActions, amount, count, finite, name, scorer, stateHash } from '../events/schemas/values.ts';
import { EnvironmentError, type Opening, type StepResult } from './environment.ts';

const text = z.string('must be a text');
const flag = z.boolean('must be true or false');
const earned = z.custom<number>(isAmount, 'must be a finite number: return 0 where nothing was earned');
const seen = { observation: text, admissibleActions, stateHash, pictures: z.array(z.unknown()).max(16).optional() };

const openingShape = z.object({
  ...seen,
  instruction: text,
  goal: text.max(10_000),
  depth: count.nullable(),
  split: name.nullable(),
  kind: name.nullish(),
});
const stepShape = z.object({
  ...seen,
  executed: text.optional(),
  reward: z.object(
    {
      value: earned,
      gain: earned.optional(),
      raw: finite,
      scale: finite,
      kind: z.enum(['final', 'cumulative', 'delta']),
      scorer: scorer.optional(),
    },
    'must be a number or { value, raw, scale, kind }',
  ),
  toolCalls: z
    .array(z.object({ tool: name, arguments: text, output: text, outcome: z.enum(['ok', 'error']), durationMs: amount.min(0) }))
    .optional(),
  components: z.array(z.object({ component: name, value: earned, scorer })).optional(),
  reason: text.max(10_000).optional(),
  terminated: flag,
  truncated: flag,
  success: flag.nullable(),
  executable: flag,
});

/** @throws EnvironmentError `failed` that names the field of an opening that cannot be recorded. */
export function mustBeOpening(opening: Opening, what: string): void {
  mustFit(openingShape, opening, what);
}

/** @throws EnvironmentError `failed` that names the field of a step that cannot be recorded. */
export function mustBeStep(step: StepResult, what: string): void {
  mustFit(stepShape, step, what);
}

function mustFit(shape: z.ZodType, value: unknown, what: string): void {
  const issue = shape.safeParse(value).error?.issues[0];
  if (issue) throw new EnvironmentError('failed', `${[what, ...issue.path].join('.')} ${issue.message}`);
}
