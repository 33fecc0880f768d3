import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../digest/sha256.ts';
import { parseThoughtAction } from '../domain/prompts/parse-thought-action.ts';
import { cutText } from '../domain/text/cut-text.ts';
import { isAbort } from '../runtime/is-abort.ts';
import {
  COMPARED,
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type Opening,
  type StepResult,
} from './environment.ts';
import { defineEnvironment, type EnvironmentEntry, type RawOptions } from './environment-entry.ts';
import { text } from './option-kinds.ts';
import { overlay } from './overlay.ts';
import { readPairs, refusedAddress } from './read-address.ts';
import { readRenderer } from './read-renderer.ts';
import { loadExport } from './tools/load-export.ts';
import { ToolError } from './tools/tool.ts';

const method = z.custom((value) => typeof value === 'function', 'must be a function');
const named = z.string('must be a text').regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, _ . or -');
const entryShape = z.looseObject({
  name: named,
  options: z
    .custom<z.ZodObject>((value) => value instanceof Object && 'shape' in value && 'safeParse' in value, 'must be a zod object')
    .optional(),
  open: method,
  renderer: z.string('must be the path of a file, relative to the module').min(1).optional(),
});
const TIMEOUT_S = 300; // as of servers

const kindShape = z.looseObject({
  name: named.optional(),
  fingerprint: z.string('must be a text').min(1, 'must not be empty').optional(),
  taskAliases: z.array(z.string(), 'must be a list of texts').min(1, 'must name a task'),
  create: method,
  close: method.optional(),
  compare: z.number('must be a share').min(0, 'must be a share, from 0 to 1').max(1, 'must be a share, from 0 to 1').optional(),
  timeout: z.number('must be a number of seconds').positive('must be a number of seconds').max(999_999).optional(),
});

/** An environment that the user brings: a module exports the same `{ name, options, open }` that ours are made of. */
export const ownModule = defineEnvironment({
  name: 'module',
  summary: 'your own, from a module that exports { name, options, open }; the export environment when no other is named',
  options: z.looseObject({
    file: text('FILE[#EXPORT]', 'the module, relative to the working folder, or npm:PACKAGE; its own options follow'),
  }),
  syntax: {
    form: 'module:FILE[#EXPORT][;KEY=VALUE;…]',
    read: (rest) => {
      const [file = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), file };
    },
  },
  open: async ({ file, environment: _name, ...own }) => openModule(file, own as RawOptions),
});

/**
 * What open returns, as its author may write it. `timeout`: the seconds that one call of an episode may take. `compare`: the share
 * of answers of a search, and of rollouts where it is deterministic, that are compared with episodes from the opening.
 */
type GivenKind = Omit<EnvironmentKind, 'name' | 'fingerprint' | 'close'> &
  Partial<EnvironmentKind> & { readonly timeout?: number; readonly compare?: number };

/**
 * Loads and opens it. The hash of its files is part of its fingerprint. @throws EnvironmentError that names the module and the
 * field.
 */
async function openModule(file: string, raw: RawOptions): Promise<EnvironmentKind> {
  const { value, place, sha256 } = await loadExport(file, 'environment', 'environment').catch((cause: unknown) => {
    throw cause instanceof ToolError ? new EnvironmentError('unknown-task', cause.message, { cause }) : cause;
  });
  check(entryShape, value, `environment ${place}: the export`);
  // as checked
  const entry = { summary: '', options: z.strictObject({}), ...(value as Partial<EnvironmentEntry>) } as EnvironmentEntry;
  const parsed = entry.options.safeParse(raw);
  if (!parsed.success) throw refusedAddress({ ...entry, name: `module:${file}` }, raw, parsed.error);
  const { renderer } = value as { readonly renderer?: string }; // as checked
  const kind: GivenKind = await (value as EnvironmentEntry).open(parsed.data); // called as a method of what the module made
  check(kindShape, kind, `environment ${place}: what open returns`);
  const from = { place: `environment ${place}`, timeout: kind.timeout ?? TIMEOUT_S };
  return overlay(kind as EnvironmentKind, {
    name: kind.name ?? entry.name,
    fingerprint: sha256Hex(`${sha256} ${kind.fingerprint ?? ''}`),
    unproven: { rate: kind.compare ?? COMPARED },
    create: async () => completeModule(await ofModule(from, 'create', () => kind.create()), from),
    ...(renderer === undefined ? {} : { renderer: await readRenderer(renderer, dirname(resolve(file.split('#')[0] ?? ''))) }),
    ...(kind.close ? {} : { close: async () => undefined }),
  });
}

function check(shape: z.ZodType, value: unknown, what: string): void {
  const issue = shape.safeParse(value).error?.issues[0];
  if (issue) throw new EnvironmentError('unknown-task', `${[what, ...issue.path].join('.')}: ${issue.message}`);
}

/** What a module may leave out of what it returns. */
const OPENING = { instruction: '', depth: null, split: null, admissibleActions: null, stateHash: null };
const STEP = { terminated: false, truncated: false, success: null, executable: true, admissibleActions: null, stateHash: null };

/** An episode of a user's module as its author may write it: less than the port asks for, or nothing of it. */
type ModuleEpisode = Pick<Environment, 'reset' | 'step'> & Partial<Environment>;

/** The module that an episode is of. */
interface ModulePlace {
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
function completeModule(inner: ModuleEpisode, from: ModulePlace): Environment {
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
async function ofModule<T>(
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

/**
 * Waits for what a user's own code promises in this process, no longer than a limit: a promise that nobody settles would keep a
 * run waiting for ever. What comes too late is dropped.
 * @throws EnvironmentError `failed` that names the call and the remedy.
 */
async function inTime<T>(seconds: number, what: string, call: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const remedy = 'see what it waits for, or let open return a larger timeout, in seconds';
    const error = () => new EnvironmentError('failed', `${what} has not settled within ${seconds} s; ${remedy}`);
    timer = setTimeout(() => reject(error()), seconds * 1_000);
  });
  try {
    return await Promise.race([call(), late]);
  } finally {
    clearTimeout(timer);
  }
}
