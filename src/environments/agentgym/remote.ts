import { z } from 'zod';
import { parseJson } from '../../domain/text/parse-json.ts';
import { EnvironmentError } from '../environment.ts';
import { abridge, type Call, type CallOptions, callServer, jsonOf, type ServerResponse } from '../http/server-call.ts';
import type { StartGate } from '../http/start-gate.ts';
import type { ServerDescriptor } from './descriptor.ts';

/** A server of a known kind at an address. */
export interface Server {
  readonly descriptor: ServerDescriptor;
  readonly calls: CallOptions;
  readonly canClose: boolean;
  /** Through which every request goes that starts a task. */
  readonly gate: StartGate;
}

interface RemoteOpening {
  readonly observation: string;
  readonly actions: readonly string[] | null;
}

export type RemoteStep =
  | {
      readonly kind: 'stepped';
      readonly observation: string;
      readonly raw: number;
      readonly done: boolean;
      readonly actions: readonly string[] | null;
    }
  /** The server failed over this action; its environment is still there. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Creates an environment and returns its id on the server. @throws EnvironmentError `unreachable` or `protocol`. */
export async function createRemote(server: Server): Promise<number> {
  const { descriptor } = server;
  // A create whose answer was lost may have left an environment behind; asking again would leave another.
  const create = () => post(server, '/create', descriptor.create ?? undefined, 'unsafe');
  // TextCraft's server starts a task in every environment that it creates.
  const answer = await server.gate.pass(descriptor.starts, create).catch((error: unknown) => {
    if (!(error instanceof EnvironmentError) || error.code !== 'gone') throw error;
    throw new EnvironmentError('unreachable', error.message, { retryable: true, cause: error });
  });
  const json = jsonOf(`POST ${descriptor.prefix}/create`, answer);
  const said = errorIn(json);
  if (said !== null)
    throw new EnvironmentError(
      'backend',
      `${descriptor.title} cannot create an environment: ${abridge(said)}; see its own output, and start it again`,
    );
  return idIn(descriptor, '/create', json);
}

function idIn({ family }: ServerDescriptor, route: string, json: unknown): number {
  return parsed(route, family === 'id' ? z.looseObject({ id: z.int() }).transform(({ id }) => id) : z.int(), json);
}

/**
 * Starts a task in an environment. Repeated freely: a reset forgets what was. @param mode `alone`: while no other starts here.
 * @throws EnvironmentError `unknown-task`, `gone`, `protocol` …
 */
export async function resetRemote(server: Server, id: number, task: number, mode?: 'alone'): Promise<RemoteOpening> {
  const { descriptor } = server;
  const { reset, family } = descriptor;
  const start = () => post(server, '/reset', { [family]: id, [reset.task]: task, ...reset.with }, 'safe');
  const answer = await server.gate.pass(mode ?? descriptor.starts, start);
  if (answer.status >= 500) {
    await mustBeAlive(server, id, answer);
    throw new EnvironmentError(
      'failed',
      `${descriptor.title} failed to start task ${task}: ${failureOf(answer)}; leave it out behind the #, or see the server's own output`,
    );
  }
  const json = jsonOf(`POST ${descriptor.prefix}/reset`, answer);
  const said = errorIn(json);
  if (said !== null) throw refusedReset(server, id, task, said);
  return openingIn(descriptor, json);
}

/**
 * Executes one action. Never sent twice. @throws EnvironmentError `gone` when the server does not know the environment any more
 * or the connection broke (retryable, on another environment); `unreachable` when it is not answered in time; `protocol` for a
 * nonsensical answer.
 */
export async function stepRemote(server: Server, id: number, action: string): Promise<RemoteStep> {
  const { descriptor } = server;
  const answer = await post(server, '/step', { [descriptor.family]: id, action }, 'unsafe');
  if (answer.status >= 500) {
    await mustBeAlive(server, id, answer);
    return { kind: 'failed', reason: failureOf(answer) };
  }
  const json = jsonOf(`POST ${descriptor.prefix}/step`, answer);
  const said = errorIn(json);
  if (said !== null) {
    if (isGone(said)) throw gone(server, id, said);
    if (said.includes('has finished'))
      throw new EnvironmentError('protocol', `the episode is over: ${abridge(said)}; reset it first`);
    return { kind: 'failed', reason: said };
  }
  return stepIn(descriptor, json);
}

/** Returns an environment to the server, where it can take one. Never throws: what a server keeps is not the caller's failure. */
export async function closeRemote(server: Server, id: number): Promise<void> {
  if (!server.canClose) return;
  const brief = { ...server.calls, timeoutMs: Math.min(server.calls.timeoutMs, CLOSE_TIMEOUT_MS), patienceMs: 0 };
  await post({ ...server, calls: brief }, '/close', { [server.descriptor.family]: id }, 'unsafe').catch(() => undefined);
}
const CLOSE_TIMEOUT_MS = 10_000; // ScienceWorld stops a JVM; longer than this and the end of a run would wait for a dead server

/**
 * Reads a GET route of an environment. @throws EnvironmentError `gone`, `unreachable`, or `protocol` when the answer has another
 * shape.
 */
export async function readRemote<T>(server: Server, id: number, route: string, shape: z.ZodType<T>): Promise<T> {
  const answer = await get(server, route, id);
  if (answer.status >= 500) await mustBeAlive(server, id, answer);
  const json = jsonOf(`GET ${server.descriptor.prefix}${route}`, answer);
  const said = errorIn(json);
  if (said !== null)
    throw isGone(said) ? gone(server, id, said) : new EnvironmentError('protocol', `GET ${route}: ${abridge(said)}`);
  return parsed(route, shape, json);
}

function post(server: Server, route: string, json: unknown, repeat: Call['repeat']): Promise<ServerResponse> {
  return callServer({ method: 'POST', path: server.descriptor.prefix + route, json, repeat }, server.calls);
}

function get({ descriptor, calls }: Server, route: string, id: number): Promise<ServerResponse> {
  return callServer({ method: 'GET', path: `${descriptor.prefix}${route}?${descriptor.family}=${id}`, repeat: 'safe' }, calls);
}

/** The published servers' words for an id they do not know, or know no more (their `_check_id`). */
function isGone(said: string): boolean {
  return /\bid\b.*\bis not valid|has been deleted/.test(said);
}

function gone({ descriptor }: Server, id: number, said: string): EnvironmentError {
  return new EnvironmentError('gone', `${descriptor.title} has lost environment ${id}: ${abridge(said)}`, { retryable: true });
}

function refusedReset(server: Server, id: number, task: number, said: string): EnvironmentError {
  const { title } = server.descriptor;
  if (server.descriptor.unknownTask.test(said)) return unknownTask(server.descriptor, task, said);
  if (isGone(said)) return gone(server, id, said);
  return new EnvironmentError(
    'protocol',
    `${title} cannot start task ${task}: ${abridge(said)}; leave it out behind the #, or see the server's own output`,
  );
}

function unknownTask({ title }: ServerDescriptor, task: number, said: string): EnvironmentError {
  return new EnvironmentError(
    'unknown-task',
    `${title} has no task ${task}: ${abridge(said)}; name tasks that it has behind the #`,
  );
}

/** Distinguishes a server that failed over a request from one that has lost the environment: both are HTTP 500. */
async function mustBeAlive(server: Server, id: number, failed: ServerResponse): Promise<void> {
  const { status, body } = await get(server, '/observation', id);
  const said = status === 200 ? errorIn(parseJson(body)) : body;
  if (said !== null && !said.includes('has finished')) throw gone(server, id, failureOf(failed));
}

function failureOf({ status, body }: ServerResponse): string {
  return `HTTP ${status}, ${abridge(body)}`;
}

function errorIn(json: unknown): string | null {
  const found = z.looseObject({ error: z.unknown() }).safeParse(json);
  if (!found.success) return null;
  return typeof found.data.error === 'string' ? found.data.error : JSON.stringify(found.data.error);
}

function openingIn({ reset, actions }: ServerDescriptor, json: unknown): RemoteOpening {
  switch (reset.answer) {
    case 'text':
      return { observation: parsed('/reset', z.string(), json), actions: null };
    case 'tuple':
      return { observation: parsed('/reset', z.tuple([z.string()], z.unknown()), json)[0], actions: null };
    case 'object': {
      const { observation } = parsed('/reset', z.looseObject({ observation: z.string() }), json);
      const preface = reset.preface && parsed('/reset', z.looseObject({ [reset.preface]: z.string() }), json)[reset.preface];
      return {
        observation: preface === null ? observation : `${preface}\n${observation}`,
        actions: actionsIn(actions, json, observation),
      };
    }
    default:
      return reset.answer satisfies never;
  }
}

function stepIn({ step, actions }: ServerDescriptor, json: unknown): Extract<RemoteStep, { kind: 'stepped' }> {
  const shape = z.looseObject({ [step.observation]: z.string(), [step.reward]: z.number(), done: z.boolean() });
  const fields = parsed('/step', shape, json);
  const observation = String(fields[step.observation]); // the schema has found a text there
  return {
    kind: 'stepped',
    observation,
    raw: Number(fields[step.reward]), // and a number here
    done: fields.done === true,
    actions: actionsIn(actions, json, observation),
  };
}

function actionsIn(where: ServerDescriptor['actions'], json: unknown, observation: string): readonly string[] | null {
  switch (where) {
    case 'none':
      return null;
    case 'field':
      return parsed('/step', z.looseObject({ available_actions: z.array(z.string()) }), json).available_actions;
    case 'text': {
      const list = /^Available actions: (\[.*\])$/m.exec(observation)?.[1];
      const read = z.array(z.string()).safeParse(parseJson(list ?? ''));
      return read.success ? read.data : []; // with nothing to do, BabyAI writes the opening bracket alone
    }
    default:
      return where satisfies never;
  }
}

function parsed<T>(route: string, shape: z.ZodType<T>, json: unknown): T {
  const result = shape.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const at = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  throw new EnvironmentError(
    'protocol',
    `${route} answered another shape (${at}${issue?.message}): ${abridge(json)}; is this another environment? espalier agentgym check URL says which it is`,
  );
}
