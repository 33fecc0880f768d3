import { parseThoughtAction } from '../domain/prompts/parse-thought-action.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { isAbort } from '../runtime/is-abort.ts';
import { type Environment, EnvironmentError, type Opening, type StepResult } from './environment.ts';
import { inTime } from './in-time.ts';
import { overlay } from './overlay.ts';

/** What a module may leave out of what it returns. */
const OPENING = { instruction: '', depth: null, split: null, admissibleActions: null, stateHash: null };
const STEP = { terminated: false, truncated: false, success: null, executable: true, admissibleActions: null, stateHash: null };

/** An episode of a user's module as its author may write it: less than the port asks for, or nothing of it. */
export type ModuleEpisode = Pick<Environment, 'reset' | 'step'> & Partial<Environment>;

/** The module that an episode is of. */
export interface ModulePlace {
  /** Names it in messages. */
  readonly place: string;
  /** How long one call may take, in seconds. */
  readonly timeout: number;
}

/**
 * Completes an episode of a user's module: a text is an opening, a number the reward that a step earned, responses are read as
 * `Thought: … Action: …`. Waits for nothing longer than a limit. @throws EnvironmentError `failed` from all its methods for what the
 * module throws, unless that says otherwise by a code of its own.
 */
export function completeModule(inner: ModuleEpisode, from: ModulePlace): Environment {
  const { place } = from;
  if (typeof inner !== 'object' || inner === null) throw failed(`${place}: create gave ${typeof inner} in place of an episode`);
  const [clone, replay, close] = [inner.clone?.bind(inner), inner.replay?.bind(inner), inner.close?.bind(inner)];
  const [expertAction, planLength, parse] = [
    inner.expertAction?.bind(inner),
    inner.planLength?.bind(inner),
    inner.parse?.bind(inner),
  ];
  const within = <T>(what: string, call: () => T | Promise<T>, signal?: AbortSignal) => ofModule(from, what, call, signal);
  const over: Partial<Environment> = {
    reset: async (task) => opened(await within('reset', () => inner.reset(task))),
    step: async (action, signal) =>
      stepped(await within(`step at the action ${quoted(action)}`, () => inner.step(action, signal), signal)),
    parse: parse ? (response) => ofOwn(place, 'parse', () => parse(response)) : parseThoughtAction,
    close: async () => {
      if (close) await within('close', close).catch(dropFailed);
    },
    ...(expertAction ? { expertAction: () => within('expertAction', expertAction) } : {}),
    ...(planLength ? { planLength: () => within('planLength', planLength) } : {}),
    ...(clone ? { clone: async () => completeModule(await within('clone', clone), from) } : {}),
    ...(replay
      ? {
          replay: async (task, actions) => {
            const given = Object(await within('replay', () => replay(task, actions)));
            if (!Array.isArray(given.steps)) throw failed(`${place}: replay gave no list of steps`);
            return { opening: opened(given.opening), steps: given.steps.map(stepped) };
          },
        }
      : {}),
  };
  return overlay(inner as Environment, over); // with what was left out
}

/** Waits for a call of a module. @throws EnvironmentError; the reason of a signal that ended the wait. */
export async function ofModule<T>(
  { place, timeout }: ModulePlace,
  what: string,
  call: () => T | Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return inTime(timeout, `${place}: ${what}`, call).catch((error: unknown) => {
    if (signal && isAbort(error, signal)) throw error;
    throw asFault(error, `${place}: ${what}`);
  });
}

function ofOwn<T>(place: string, what: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw asFault(error, `${place}: ${what}`);
  }
}

/** What a module throws is an error of its own, whatever code it has: one of a socket is no outage of the record. */
function asFault(error: unknown, what: string): EnvironmentError {
  if (error instanceof EnvironmentError) return error;
  const { message } = (error ?? {}) as { readonly message?: unknown }; // anything may be thrown
  return failed(`${what} threw ${cutText(String(message ?? error), MESSAGE)}`, error);
}

const MESSAGE = 5_000; // characters

function failed(message: string, cause?: unknown): EnvironmentError {
  return new EnvironmentError('failed', message, { cause });
}

// What they return is checked with the answers of all environments (`withPictures`).

function opened(given: unknown): Opening {
  const opening = typeof given === 'string' ? { observation: given } : Object(given);
  return { ...OPENING, ...opening, goal: opening.goal ?? cutText(String(opening.observation), 10_000) };
}

function stepped(given: unknown): StepResult {
  const step = Object(given);
  const { reward } = step as { readonly reward?: unknown };
  const earned = typeof reward === 'number' ? { reward: { value: reward, raw: reward, scale: 1, kind: 'delta' } } : {};
  return { ...STEP, ...step, ...earned };
}

/** What did not close in time, or threw, is given up: the episode is over, and what went wrong in it was said by the call before. */
function dropFailed(error: unknown): void {
  if (!(error instanceof EnvironmentError && error.code === 'failed')) throw error;
}

const quoted = (action: string) => JSON.stringify(action.slice(0, 80));
