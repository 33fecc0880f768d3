import { type Failure, retry } from '../runtime/retry.ts';
import {
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type Opening,
  type StepResult,
  type TaskStart,
} from './environment.ts';
import type { StartGate } from './http/start-gate.ts';
import { type EpisodePath, replayAtOnce } from './replay-at-once.ts';
import { resetAsRecorded } from './reset-as-recorded.ts';
import { observationText, sameObservation, shownText } from './same-observation.ts';
import { picturesOf, withPictures } from './with-pictures.ts';

export type RestartedEnvironment =
  | { readonly kind: 'rebuilt'; readonly environment: Environment; readonly last: StepResult | null }
  /** Another world answers: at the opening (0) or after the step of this number. */
  | { readonly kind: 'diverged'; readonly at: number; readonly recorded: string; readonly replayed: string };

/**
 * Brings a new environment to the state of another one, by reset and replay, with every observation compared. Who gets the
 * environment closes it. @throws EnvironmentError as reset and step do.
 */
export async function rebuildEnvironment(kind: EnvironmentKind, path: EpisodePath): Promise<RestartedEnvironment> {
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

const TRIES = 2; // on a fresh environment, before the error of a step is final

/**
 * Makes the environments of a kind survive what a fresh one can repair: a server that was started again, a broken connection, a
 * step that was not answered in time. The lost environment is given up, another is brought to the same place, and the step is
 * taken there: no environment ever takes a step twice. A copy survives as its original does.
 * @param gate given where the environments share a process of this program: a request over which it was `lost` is repeated while
 * no other is in flight, so that a second loss names the request that causes it, which has `failed` then.
 */
export function withRestart(kind: EnvironmentKind, gate: StartGate | null = null): EnvironmentKind {
  const read = withPictures(kind); // so that they can be compared
  const { withHints } = kind;
  return {
    ...kind,
    ...(withHints ? { withHints: () => withRestart(withHints(), gate) } : {}),
    create: async () => survivingEnvironment({ kind: read, gate }, await read.create(), null),
  };
}

interface Survival {
  readonly kind: EnvironmentKind;
  readonly gate: StartGate | null;
}

function survivingEnvironment({ kind, gate }: Survival, first: Environment, begun: EpisodePath | null): Environment {
  let environment = first;
  let path = begun;
  let isClosed = false; // nothing came in its place, and the next request tries again

  async function rebuild(lost: EpisodePath): Promise<void> {
    if (!isClosed) await environment.close(); // first: where environments are few, the new one may need its place
    isClosed = true;
    const rebuilt = await rebuildEnvironment(kind, lost);
    if (rebuilt.kind === 'diverged') throw worldChanged(lost, rebuilt, gate ? 'failed' : 'gone');
    environment = rebuilt.environment;
    isClosed = false;
  }

  /** @param at a `start` needs no episode that is where the lost one was. */
  function tried<T>(ask: () => Promise<T>, at: 'start' | 'way' = 'way'): Promise<T> {
    const attempt = async (count: number): Promise<T> => {
      if (at !== 'start' && path && (count > 1 || isClosed)) await rebuild(path);
      else if (isClosed) {
        environment = await kind.create();
        isClosed = false;
      }
      return ask();
    };
    const gated = (count: number) => (gate ? gate.pass(count > 1 ? 'alone' : 'together', () => attempt(count)) : attempt(count));
    const again = ({ error, tries }: Failure): boolean => {
      if (!(error instanceof EnvironmentError)) return false;
      if (error.code === 'lost' && tries > 1)
        throw new EnvironmentError('failed', `${error.message}; so did the one that was started in its place`, { cause: error });
      return error.code === 'lost' || (at !== 'start' && path !== null && error.retryable && tries <= TRIES);
    };
    return retry(gated, { again, pauseMs: 0 });
  }

  const { clone, replay, expertAction, planLength } = environment;
  return {
    reset: async (task): Promise<Opening> => {
      const opening = await tried(() => environment.reset(task), 'start');
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
            const replayed = await tried(() => (environment.replay ?? replay)(task, actions), 'start');
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
            tried(async () => survivingEnvironment({ kind, gate }, (await environment.clone?.()) ?? (await kind.create()), path)),
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

/** The error of an episode that was brought to where another one was, and was answered otherwise on the way. */
export function worldChanged(
  { task }: Pick<EpisodePath, 'task'>,
  { at, recorded, replayed }: Extract<RestartedEnvironment, { kind: 'diverged' }>,
  code: 'gone' | 'failed' = 'gone',
): EnvironmentError {
  const where = at === 0 ? 'opens otherwise' : `answers step ${at} otherwise`;
  const [was, is] = [recorded, replayed].map((text) => JSON.stringify(text.slice(0, 200)));
  return new EnvironmentError(
    code,
    `the environment was started again, but task ${task.alias} ${where} than before: ${was} became ${is}; start it with the data and options it had, or leave this tree and begin another run`,
  );
}
