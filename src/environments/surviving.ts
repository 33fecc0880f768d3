import { type Failure, retry } from '../runtime/retry.ts';
import {
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type Opening,
  type StepResult,
  type TaskStart,
} from './environment.ts';
import { type EpisodePath, replayAtOnce } from './replay-at-once.ts';
import { resetAsRecorded } from './reset-as-recorded.ts';
import { observationText, sameObservation, shownText } from './same-observation.ts';
import { picturesOf, withPictures } from './with-pictures.ts';

export type Rebuilt =
  | { readonly kind: 'rebuilt'; readonly environment: Environment; readonly last: StepResult | null }
  /** Another world answers: at the opening (0) or after the step of this number. */
  | { readonly kind: 'diverged'; readonly at: number; readonly recorded: string; readonly replayed: string };

/**
 * Brings a new environment to the state of another one, by reset and replay, with every observation compared. Who gets the
 * environment closes it. @throws EnvironmentError as reset and step do.
 */
export async function rebuildEnvironment(kind: EnvironmentKind, path: EpisodePath): Promise<Rebuilt> {
  const environment = await kind.create();
  try {
    const taken = await replayAtOnce(environment, path);
    if (taken) return { kind: 'rebuilt', environment, last: taken.at(-1) ?? null };
    const first = { observation: path.firstObservation, pictures: path.firstPictures };
    let seen: Opening | StepResult = (await resetAsRecorded(environment, path.task, first.observation, first.pictures)).opening;
    let last: StepResult | null = null;
    for (const [i, recorded] of [first, ...path.steps].entries()) {
      const step = path.steps[i - 1];
      if (step) {
        last = await environment.step(step.action);
        seen = last;
      }
      if (sameObservation(seen, recorded)) continue;
      await environment.close();
      return { kind: 'diverged', at: i, recorded: observationText(recorded), replayed: shownText(seen) };
    }
    return { kind: 'rebuilt', environment, last };
  } catch (error) {
    await environment.close();
    throw error;
  }
}

/**
 * Makes the environments of a kind survive what a fresh one can repair: a server that was started again, a broken connection, a
 * step that was not answered in time. The lost environment is given up, another is brought to the same place, and the step is
 * taken there: no environment ever takes a step twice. A copy survives as its original does.
 * @param tries how often one step may be tried on a fresh environment before its error is final.
 */
export function surviving(kind: EnvironmentKind, tries = 2): EnvironmentKind {
  const read = withPictures(kind); // so that they can be compared
  const { withHints } = kind;
  return {
    ...kind,
    ...(withHints ? { withHints: () => surviving(withHints(), tries) } : {}),
    create: async () => survivingEnvironment(read, tries, await read.create(), null),
  };
}

function survivingEnvironment(kind: EnvironmentKind, tries: number, first: Environment, begun: EpisodePath | null): Environment {
  let environment = first;
  let path = begun;

  async function rebuild(lost: EpisodePath): Promise<void> {
    await environment.close(); // first: where environments are few, the new one may need its place
    const rebuilt = await rebuildEnvironment(kind, lost);
    if (rebuilt.kind === 'diverged') throw anotherWorld(lost, rebuilt);
    environment = rebuilt.environment;
  }

  function tried<T>(ask: () => Promise<T>): Promise<T> {
    const attempt = async (count: number): Promise<T> => {
      if (count > 1 && path) await rebuild(path);
      return ask();
    };
    const again = ({ error, tries: count }: Failure): boolean => count <= tries && path !== null && isMendable(error);
    return retry(attempt, { again, pauseMs: 0 });
  }

  const { clone, replay, expertAction, planLength } = environment;
  return {
    reset: async (task): Promise<Opening> => {
      const opening = await environment.reset(task);
      path = begunBy(task, opening);
      return opening;
    },
    step: (action) =>
      tried(async (): Promise<StepResult> => {
        const result = await environment.step(action);
        if (path)
          path = { ...path, steps: [...path.steps, { action, observation: result.observation, pictures: picturesOf(result) }] };
        return result;
      }),
    parse: (response) => environment.parse(response),
    ...(replay
      ? {
          replay: async (task, actions) => {
            const replayed = await (environment.replay ?? replay)(task, actions);
            const steps = replayed.steps.map((step, i) => {
              return { action: actions[i] ?? '', observation: step.observation, pictures: picturesOf(step) };
            });
            path = { ...begunBy(task, replayed.opening), steps };
            return replayed;
          },
        }
      : {}),
    ...(clone
      ? {
          clone: () =>
            tried(async () => survivingEnvironment(kind, tries, (await environment.clone?.()) ?? (await kind.create()), path)),
        }
      : {}),
    ...(expertAction ? { expertAction: () => tried(async () => (await environment.expertAction?.()) ?? null) } : {}),
    ...(planLength ? { planLength: () => tried(async () => (await environment.planLength?.()) ?? null) } : {}),
    close: () => environment.close(),
  };
}

function begunBy({ alias, seed }: TaskStart, opening: Opening): EpisodePath {
  return { task: { alias, seed }, firstObservation: opening.observation, firstPictures: picturesOf(opening), steps: [] };
}

function isMendable(error: unknown): boolean {
  return error instanceof EnvironmentError && error.retryable;
}

/** The error of an episode that was brought to where another one was, and was answered otherwise on the way. */
export function anotherWorld(
  { task }: Pick<EpisodePath, 'task'>,
  { at, recorded, replayed }: Extract<Rebuilt, { kind: 'diverged' }>,
): EnvironmentError {
  const where = at === 0 ? 'opens otherwise' : `answers step ${at} otherwise`;
  const [was, is] = [recorded, replayed].map((text) => JSON.stringify(text.slice(0, 200)));
  return new EnvironmentError(
    'gone',
    `the environment was started again, but task ${task.alias} ${where} than before: ${was} became ${is}; start it with the data and options it had, or leave this tree and begin another run`,
  );
}
