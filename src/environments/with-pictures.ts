import { isPicture, type Picture, PictureRefused, readPictures } from '../images/picture.ts';
import { mustBeOpening, mustBeStep } from './check-answer.ts';
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
