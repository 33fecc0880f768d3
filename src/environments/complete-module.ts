import { z } from 'zod';
import { parseThoughtAction } from '../domain/prompts/parse-thought-action.ts';
import { isAmount } from '../domain/reward/amount.ts';
import { type Environment, EnvironmentError, type Opening, type StepResult } from './environment.ts';
import { inTime } from './in-time.ts';
import { overlay } from './overlay.ts';

const text = z.string('must be a text');
const amount = z.custom<number>(isAmount, 'must be a finite number: return 0 where nothing was earned');
const openingShape = z.looseObject({ observation: text });
const stepShape = z.looseObject({
  observation: text,
  reward: z.looseObject({ value: amount, raw: amount }, 'must be a number or { value, raw, scale, kind }'),
});

/** What a module may leave out of what it returns. */
const OPENING = { instruction: '', depth: null, split: null, admissibleActions: null, stateHash: null };
const STEP = { terminated: false, truncated: false, success: null, executable: true, admissibleActions: null, stateHash: null };

/** An episode of a user's module as its author may write it: less than the port asks for, or nothing of it. */
export type GivenEpisode = Pick<Environment, 'reset' | 'step'> & Partial<Environment>;

/** The module that an episode is of. */
export interface ModulePlace {
  /** Names it in messages. */
  readonly place: string;
  /** How long one call may take, in seconds. */
  readonly timeout: number;
}

/**
 * Completes an episode of a user's module: a text is an opening, a number the reward that a step earned, responses are read as
 * `Thought: … Action: …`. Refuses by its field what cannot be recorded, and waits for nothing longer than a limit.
 */
export function completeModule(inner: GivenEpisode, from: ModulePlace): Environment {
  const { place, timeout } = from;
  const within = <T>(what: string, call: () => T | Promise<T>) => inTime(timeout, `${place}: ${what}`, call).catch(asOwn);
  const [clone, replay, close] = [inner.clone?.bind(inner), inner.replay?.bind(inner), inner.close?.bind(inner)];
  const [expertAction, planLength] = [inner.expertAction?.bind(inner), inner.planLength?.bind(inner)];
  const opened = (given: unknown): Opening => {
    const opening = typeof given === 'string' ? { observation: given } : given;
    mustFit(openingShape, opening, `${place}: what reset returns`, '');
    const { observation } = opening as Opening; // as the shape has just shown
    return { goal: observation, ...OPENING, ...(opening as Partial<Opening>), observation };
  };
  const stepped = (action: string, given: unknown): StepResult => {
    const { reward } = Object(given) as { readonly reward?: unknown };
    const earned = typeof reward === 'number' ? { reward: { value: reward, raw: reward, scale: 1, kind: 'delta' } } : {};
    const step = { ...Object(given), ...earned };
    mustFit(stepShape, step, `${place}: what step returns`, `, at the action ${quoted(action)}`);
    return { ...STEP, ...step };
  };
  const over: Partial<Environment> = {
    reset: async (task) => opened(await within('reset', () => inner.reset(task))),
    step: async (action, signal) =>
      stepped(action, await within(`step at the action ${quoted(action)}`, () => inner.step(action, signal))),
    ...(inner.parse ? {} : { parse: parseThoughtAction }),
    close: async () => {
      if (close) await within('close', close).catch(dropFailed);
    },
    ...(expertAction ? { expertAction: () => within('expertAction', expertAction) } : {}),
    ...(planLength ? { planLength: () => within('planLength', planLength) } : {}),
    ...(clone ? { clone: async () => completeModule(await within('clone', clone), from) } : {}),
    ...(replay
      ? {
          replay: async (task, actions) => {
            const { opening, steps } = await within('replay', () => replay(task, actions));
            return { opening: opened(opening), steps: steps.map((step, i) => stepped(actions[i] ?? '', step)) };
          },
        }
      : {}),
  };
  return overlay(inner as Environment, over); // with what was left out
}

/** Throws what a module threw without its code: one of a socket is an outage of what the module asks, not of the record. */
function asOwn(error: unknown): never {
  if (error instanceof EnvironmentError || typeof error !== 'object' || error === null || !('code' in error)) throw error;
  throw new Error('message' in error ? String(error.message) : String(error), { cause: error });
}

/** What did not close in time is given up: the episode is over, and what went wrong in it was said by the call before. */
function dropFailed(error: unknown): void {
  if (!(error instanceof EnvironmentError && error.code === 'failed')) throw error;
}

const quoted = (action: string) => JSON.stringify(action.slice(0, 80));

function mustFit(shape: z.ZodType, value: unknown, what: string, where: string): void {
  const issue = shape.safeParse(value).error?.issues[0];
  if (issue) throw new EnvironmentError('failed', `${[what, ...issue.path].join('.')} ${issue.message}${where}`);
}
