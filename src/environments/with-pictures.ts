import { z } from 'zod';
import { isAmount } from '../domain/reward/amount.ts';
import { admissibleActions, amount, count, finite, name, scorer, stateHash } from '../events/schemas/values.ts';
import { isPicture, type Picture, PictureRefused, readPictures } from '../images/observation-pictures.ts';
import {
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type Opening,
  type StepResult,
  type TaskStart,
} from './environment.ts';
import { overlay } from './overlay.ts';

type Seen = Pick<Opening | StepResult, 'pictures'>;

/**
 * Reads the pictures that an environment returns where it opens a task, takes a step or repeats both, so that all who see them
 * have pixels with an id. @throws EnvironmentError `failed` from there for what is no picture, and for what cannot be recorded.
 */
export function withPictures(kind: EnvironmentKind): EnvironmentKind {
  const { withHints } = kind;
  return overlay(kind, {
    ...(withHints ? { withHints: () => withPictures(withHints.call(kind)) } : {}),
    create: async () => reading(await kind.create()),
  });
}

function reading(inner: Environment): Environment {
  return overlay(inner, {
    reset: async (task) => readOpening(await inner.reset(task), task),
    step: async (action, signal) => readStep(await inner.step(action, signal), action),
    ...(inner.replay ? { replay: replaying(inner.replay.bind(inner)) } : {}),
    ...(inner.clone ? { clone: async () => reading(await (inner.clone as () => Promise<Environment>)()) } : {}),
  });
}

function replaying(replay: NonNullable<Environment['replay']>): NonNullable<Environment['replay']> {
  return async (task, actions) => {
    const { opening, steps } = await replay(task, actions);
    const answers = steps.map((step, i) => readStep(step, actions[i] ?? ''));
    return { opening: await readOpening(opening, task), steps: await Promise.all(answers) };
  };
}

async function readOpening(opening: Opening, { alias }: TaskStart): Promise<Opening> {
  const what = `the environment's opening of task ${alias}`;
  mustBeOpening(opening, what);
  return read(opening, what);
}

async function readStep(step: StepResult, action: string): Promise<StepResult> {
  const what = `the environment's answer to the action ${JSON.stringify(action.slice(0, 80))}`;
  mustBeStep(step, what);
  return read(step, what);
}

async function read<T extends Seen>(seen: T, what: string): Promise<T> {
  if (seen.pictures === undefined) return seen;
  try {
    return { ...seen, pictures: await readPictures(seen.pictures) };
  } catch (cause) {
    if (cause instanceof PictureRefused) throw new EnvironmentError('failed', `${what}: ${cause.message}`, { cause });
    throw cause;
  }
}

/** The pictures of what an environment returned, which `withPictures` read. */
export function picturesOf({ pictures = [] }: Seen): readonly Picture[] {
  return pictures.map((each) => {
    if (isPicture(each)) return each;
    throw new TypeError('pictures are read where an environment is opened');
  });
}

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
function mustBeOpening(opening: Opening, what: string): void {
  mustFit(openingShape, opening, what);
}

/** @throws EnvironmentError `failed` that names the field of a step that cannot be recorded. */
function mustBeStep(step: StepResult, what: string): void {
  mustFit(stepShape, step, what);
}

function mustFit(shape: z.ZodType, value: unknown, what: string): void {
  const issue = shape.safeParse(value).error?.issues[0];
  if (issue) throw new EnvironmentError('failed', `${[what, ...issue.path].join('.')} ${issue.message}`);
}
