import { z } from 'zod';
import { parseJson } from '../../domain/text/parse-json.ts';
import type { Json } from '../../domain/tools/read-python-json.ts';
import { isHttpAddress } from '../../runtime/secret-address.ts';
import { SECRET_REMEDY, secretInUrl } from '../../runtime/secret-in-url.ts';
import { EnvironmentError } from '../environment.ts';
import type { PythonProcess } from '../http/python-process.ts';
import { abridge, type CallOptions, callServer, type ServerResponse } from '../http/server-call.ts';
import { type Tool, ToolError, ToolUnavailable } from './tool.ts';

/** The protocol's name and version, which a server of tools names in its list. */
export const TOOLS_PROTOCOL = 'espalier-tools/1';

const PATIENCE_MS = 30_000; // a server that is started again takes that long

const parameters = z.looseObject({
  type: z.literal('object').default('object'),
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

/** What `GET /tools` answers. */
const toolListShape = z.object({
  protocol: z.literal(TOOLS_PROTOCOL).describe('Name and version of the protocol.'),
  fingerprint: z
    .string()
    .min(1)
    .max(1_000)
    .describe('What determines results besides the arguments, such as a hash of the code.'),
  tools: z
    .array(
      z.object({
        name: z
          .string()
          .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, _ . or -')
          .describe('Name that a model calls.'),
        description: z.string().min(1).max(10_000).describe('What the tool does, as a model is shown.'),
        parameters: parameters.prefault({}).describe('JSON Schema of the arguments, an object.'),
      }),
    )
    .min(1)
    .describe('Tools of the server, in order.'),
});

const pictureList = z.array(z.string().max(14_000_000)).max(16);

/** What a call may answer, with any status from 400 on: that it failed, or that what the tool asks is away. */
const errorShape = z.object({ error: z.enum(['failed', 'backend']), message: z.string().max(10_000).default('it failed') });

/** What `POST /call {tool, arguments}` answers. */
const callShape = z.object({
  content: z.string().max(4_000_000).describe('Result, as the model is shown.'),
  success: z.boolean().optional().describe('Whether the call did what was asked; true when left out.'),
  reward: z.number().nullish().describe('Process reward of the call.'),
  pictures: pictureList.optional().describe('PNG or JPEG pictures, in base64 or as data URLs, behind the text in order.'),
});

/**
 * Opens the tools of a server, or the one that is named behind `#`. A call is sent once: only what never reached the server is
 * sent again. @param process of this program, which serves them; the first tool closes it. @throws ToolError that says what the
 * server lacks, and which tools there are.
 */
export async function openToolServer(address: string, timeoutMs: number, process?: PythonProcess): Promise<readonly Tool[]> {
  const [url = '', name] = address.split('#');
  const place = process?.name ?? url;
  const patienceMs = process ? 0 : PATIENCE_MS;
  const calls: CallOptions = { baseUrl: serverAddress(url, 'a server of tools'), timeoutMs, patienceMs, process };
  const read = async (more: Partial<CallOptions>) => {
    const get = { method: 'GET', path: '/tools', repeat: 'safe' } as const;
    const answer = await callServer(get, { ...calls, patienceMs: 0, ...more }).catch(refused);
    return readAnswer(toolListShape, answer, `GET ${url}/tools`);
  };
  const list = await read({});
  process?.onRestart(async (baseUrl) => {
    const { fingerprint } = await read({ baseUrl, process: undefined });
    return fingerprint === list.fingerprint;
  });
  const chosen = list.tools.filter((tool) => name === undefined || tool.name === name);
  if (chosen.length === 0)
    throw new ToolError(`${url} has no tool ${name}; it has ${list.tools.map((tool) => tool.name).join(', ')}`);
  return chosen.map((described, i) => ({
    name: described.name,
    description: described.description,
    parameters: described.parameters as { readonly [key: string]: Json }, // read from JSON
    fingerprint: `${list.fingerprint} ${described.name}`,
    async execute(args) {
      const json = { tool: described.name, arguments: args };
      const answer = await callServer({ method: 'POST', path: '/call', json, repeat: 'unsafe' }, calls).catch(unavailable);
      if (answer.status !== 200) throw whyRefused(described.name, answer, place);
      const { content, success, reward, pictures } = readAnswer(callShape, answer, described.name);
      return {
        content,
        ...(success === undefined ? {} : { success }),
        ...(reward == null ? {} : { reward }),
        ...(pictures ? { pictures } : {}),
      };
    },
    ...(i === 0 && process ? { close: process.close } : {}), // once for all of them
  }));
}

/** Reads the address of a server. @throws ToolError for what is no http URL, and for one that holds a secret. */
export function serverAddress(url: string, what: string): URL {
  const secret = secretInUrl(url);
  if (secret !== null) throw new ToolError(`the address of ${what} holds ${secret}: ${SECRET_REMEDY}`);
  if (!isHttpAddress(url)) throw new ToolError(`${JSON.stringify(url.slice(0, 200))} is no http URL`);
  return new URL(url);
}

/** Reads the JSON of an answer. @throws ToolError that names the field that does not fit. */
export function readAnswer<Shape extends z.ZodType>(
  shape: Shape,
  { status, body }: { status: number; body: string },
  what: string,
): z.output<Shape> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new ToolError(`${what} answered HTTP ${status} without JSON: ${abridge(body)}`);
  }
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ToolError(`${what}: ${issue?.path.join('.') || 'the answer'} ${issue?.message ?? 'does not fit'}: ${abridge(body)}`);
}

/** Names a server that cannot be opened as the fault of a tool. */
export function refused(error: unknown): never {
  throw error instanceof EnvironmentError ? new ToolError(error.message, { cause: error }) : error;
}

/**
 * The server's word on the call (`failed`) is shown to the model, without the address; any other answer says nothing of the call, and
 * fails the rollout, but the word that what the tool asks is away (`backend`): what is put off or cut off on the way is thrown before.
 */
function whyRefused(name: string, { status, body }: ServerResponse, place: string): Error {
  const own = errorShape.safeParse(parseJson(body));
  if (own.success && own.data.error === 'failed') return new ToolError(`${name}: ${abridge(own.data.message)}`);
  const reason = `${name} at ${place} answered HTTP ${status}: ${abridge(body)}`;
  return own.success ? new ToolUnavailable(reason) : new EnvironmentError('failed', reason);
}

/**
 * A call over which its process was lost, with no other in flight, has failed, and so has one whose answer is too long; any other
 * loss says nothing of it.
 */
function unavailable(error: unknown): never {
  if (!(error instanceof EnvironmentError)) throw error;
  if (error.code === 'failed' || (error.code === 'lost' && !error.retryable))
    throw new ToolError(error.message, { cause: error });
  throw new ToolUnavailable(error.message, { cause: error });
}
