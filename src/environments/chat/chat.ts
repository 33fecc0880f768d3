import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { frameTurn } from '../../domain/tools/profile-chat.ts';
import { type Environment, EnvironmentError, type EnvironmentKind, type StepResult } from '../environment.ts';
import { defineEnvironment } from '../environment-entry.ts';
import { oneSource, opening } from '../retrieval/open-source.ts';
import { generateWorld, SHIPPED_WORLD } from '../search-qa/world/generate-world.ts';
import { answerTurn, type TurnRules } from '../tool-env/answer-turn.ts';
import { instruct } from '../tool-env/instruct.ts';
import { callOptions, openTools, sandboxed, toolOptions } from '../tool-env/open-tools.ts';
import { parseWhole } from '../tool-env/parse-whole.ts';

export interface ChatOptions extends TurnRules {
  /** Code points of a result that the model is shown. */
  readonly maxResponse: number;
  readonly toolTimeoutMs: number;
  readonly clock: () => number;
}

/** The one task of a chat: what it is about, the person says. */
export const CHAT_TASK = 'chat';

const RULES_REVISION = 1;

/**
 * Opens conversations with tools. A response that calls tools is followed by their results; behind any other response a person is
 * waited for (`withPerson`), and what they say is the next observation. There is no outcome: what single calls were paid is the
 * component `tool`.
 */
export function openChat(options: ChatOptions): EnvironmentKind {
  const { profile, toolbox, maxResponse, parallel, paysCalls } = options;
  const closing = new AbortController();
  const tools = [...toolbox.tools.values()];
  const signatures = tools.map((tool) => [tool.name, tool.description, tool.parameters, tool.fingerprint ?? '']);
  const rules = [profile, maxResponse, parallel, paysCalls];
  const fingerprint = sha256Hex(JSON.stringify(['chat', RULES_REVISION, rules, signatures]));
  return {
    name: 'chat',
    fingerprint,
    needsPerson: true,
    components: ['tool'],
    taskAliases: [CHAT_TASK],
    tasks: [{ depth: null, split: null }],
    create: async () => createConversation(options, fingerprint, closing.signal),
    close: async () => {
      closing.abort(new Error('the environment is closed'));
      await toolbox.close();
    },
  };
}

function createConversation(options: ChatOptions, fingerprint: string, closed: AbortSignal): Environment {
  const { profile, toolbox } = options;
  const tools = [...toolbox.tools.values()];
  return {
    reset: async ({ alias }) => {
      if (alias !== CHAT_TASK) throw new EnvironmentError('unknown-task', `a chat has one task: name ${CHAT_TASK}`);
      const instruction = tools.length > 0 ? instruct(profile, tools) : '';
      return { instruction, observation: '', goal: '', depth: null, split: null, admissibleActions: null, stateHash: null };
    },
    step: async (response, signal): Promise<StepResult> => {
      const either = signal ? AbortSignal.any([closed, signal]) : closed;
      const limits = { timeoutMs: options.toolTimeoutMs, signal: either, clock: options.clock };
      const { kind, results, pictures, calls, reward, executable } = await answerTurn(options, response, limits);
      const scorer = { name: `tools-${profile}`, revision: fingerprint.slice(0, 16) };
      return {
        observation: frameTurn(profile, results, options.maxResponse),
        reward: { value: 0, raw: 0, scale: 1, kind: 'final' },
        terminated: false,
        truncated: false,
        success: null,
        executable,
        admissibleActions: null,
        stateHash: null,
        toolCalls: calls,
        ...(pictures.length > 0 ? { pictures } : {}),
        components: reward === null ? [] : [{ component: 'tool', value: reward, scorer }],
        ...(kind === 'final' ? { awaitsPerson: true } : {}),
      };
    },
    parse: parseWhole,
    close: async () => undefined,
  };
}

const toolsOf = ({ tools }: { tools?: string[] | undefined }): readonly string[] => tools ?? [];

const options = z
  .strictObject({ ...toolOptions('none when left out'), ...callOptions })
  .refine(...oneSource)
  .refine(...sandboxed(toolsOf));

/** A conversation with tools, as in `chat:profile=v0.1;tools=calculator`. */
export const chat = defineEnvironment({
  name: 'chat',
  summary: 'a conversation of a person with a policy and its tools; for `espalier chat`',
  options,
  open: (given) =>
    opening('chat', async () => {
      const { seed = SHIPPED_WORLD.seed, size = SHIPPED_WORLD.size } = given;
      const tools = await openTools(given, toolsOf(given), () => generateWorld(seed, size).documents);
      return openChat({ ...tools, clock: () => performance.now() });
    }),
});
