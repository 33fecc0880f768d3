import { sha256Hex } from '../../digest/sha256.ts';
import { lastAnswer } from '../../domain/reward/exact-match.ts';
import { goldsOf } from '../../domain/reward/scored-episode.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { ToolProfile } from '../../domain/tools/plan-turn.ts';
import { frameTurn, type ToolTurn, writeChat } from '../../domain/tools/profile-chat.ts';
import { type Environment, EnvironmentError, type EnvironmentKind, type StepResult } from '../environment.ts';
import { kindOfSource } from '../kind-of-source.ts';
import type { Toolbox } from '../tools/toolbox.ts';
import { type AnsweredTurn, answerTurn } from './answer-turn.ts';
import { instruct } from './instruct.ts';
import type { ModuleReward, Reward } from './open-reward.ts';
import { parseWhole } from './parse-whole.ts';
import type { ToolTask } from './tool-task.ts';

export interface ToolEnvOptions {
  readonly profile: ToolProfile;
  readonly tasks: readonly ToolTask[];
  /** Closed with the kind, as the reward is. */
  readonly toolbox: Toolbox;
  readonly reward: Reward;
  readonly maxTurns: number;
  /** Code points of a result that the model is shown. */
  readonly maxResponse: number;
  readonly toolTimeoutMs: number;
  readonly parallel: boolean;
  readonly paysCalls: boolean;
  readonly clock: () => number;
}

/** Raised when the same configuration makes another task. */
const RULES_REVISION = 1;

/**
 * Opens tasks that are done with tools (Agent-R1's ToolEnv; specification of Agent-R1, §1.1 to §1.3). A step is a whole response:
 * its calls are executed and their results are the observation; a response without a call is the final answer, which terminates
 * the episode; `maxTurns` responses truncate it. The outcome is scored at the end as `environment`; what single calls were paid
 * is the component `tool`. The seed of a reset has no meaning.
 */
export function openToolEnv(options: ToolEnvOptions): EnvironmentKind {
  const { tasks, toolbox, reward } = options;
  const byAlias = new Map(tasks.map((task) => [task.alias, task]));
  const closing = new AbortController();
  const tools = [...toolbox.tools.values()];
  const rules = [options.profile, options.maxTurns, options.maxResponse, options.parallel, options.paysCalls];
  const signatures = tools.map(({ name, description, parameters, fingerprint = '' }) => [
    name,
    description,
    parameters,
    fingerprint,
  ]);
  const kind: Kind = {
    ...options,
    byAlias,
    instruction: instruct(options.profile, tools),
    fingerprint: sha256(['tool-env', RULES_REVISION, rules, signatures, reward.fingerprint, tasks]),
    signal: closing.signal,
  };
  return {
    name: 'tool-env',
    fingerprint: kind.fingerprint,
    components: ['tool'],
    taskAliases: [...byAlias.keys()],
    groundTruth: (alias) => {
      const task = byAlias.get(alias);
      return task === undefined ? null : { groundTruth: task.groundTruth, dataSource: task.dataSource };
    },
    create: async () => createEpisode(kind, null),
    close: async () => {
      closing.abort(new Error('the environment is closed'));
      await toolbox.close();
      await reward.close();
    },
  };
}

interface Kind extends ToolEnvOptions {
  readonly byAlias: ReadonlyMap<string, ToolTask>;
  readonly instruction: string;
  readonly fingerprint: string;
  readonly signal: AbortSignal;
}

interface Situation {
  readonly task: ToolTask;
  readonly turns: readonly ToolTurn[];
  readonly invalid: number;
  readonly ended: boolean;
}

function createEpisode(kind: Kind, initial: Situation | null): Environment {
  let situation = initial;
  const current = (): Situation => {
    if (situation === null) throw new EnvironmentError('gone', 'no task is begun: reset first');
    return situation;
  };
  return {
    reset: async ({ alias }) => {
      const task = kind.byAlias.get(alias);
      if (task === undefined)
        throw new EnvironmentError(
          'unknown-task',
          `there is no task ${JSON.stringify(alias.slice(0, 80))}: name one of the file`,
        );
      situation = { task, turns: [], invalid: 0, ended: false };
      return {
        instruction: kind.instruction,
        observation: task.prompt,
        goal: cutText(task.prompt, 10_000),
        depth: task.queries?.length ?? null,
        split: task.split,
        kind: kindOfSource(task.dataSource),
        admissibleActions: null,
        stateHash: stateHash(kind, situation),
      };
    },
    step: async (response, signal) => {
      const before = current();
      if (before.ended) throw new EnvironmentError('gone', 'the task is answered, or its turns are used up: reset first');
      const { after, result } = await take(kind, before, response, signal);
      situation = after;
      return result;
    },
    parse: parseWhole,
    clone: async () => createEpisode(kind, situation), // a situation never changes, so sharing it is copying it
    expertAction: async () => (situation === null ? null : expertTurn(kind, situation)),
    close: async () => {
      situation = null;
    },
  };
}

async function take(
  kind: Kind,
  before: Situation,
  response: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly after: Situation; readonly result: StepResult }> {
  const either = signal ? AbortSignal.any([kind.signal, signal]) : kind.signal;
  const limits = { timeoutMs: kind.toolTimeoutMs, signal: either, clock: kind.clock };
  const answered = await answerTurn(kind, response, limits);
  const isFinal = answered.kind === 'final';
  const ended = isFinal || before.turns.length + 1 >= kind.maxTurns;
  const observation = frameTurn(kind.profile, answered.results, kind.maxResponse);
  const after: Situation = {
    task: before.task,
    turns: [...before.turns, { response, observation }],
    invalid: before.invalid + (answered.executable ? 0 : 1),
    ended,
  };
  const outcome = ended ? await score(kind, after) : null;
  const value = outcome?.value ?? 0;
  const reasons = [isFinal ? 'final_answer' : 'max_steps', outcome?.refusal ? `reward refused: ${outcome.refusal}` : ''];
  const result: StepResult = {
    observation,
    reward: { value, raw: value, scale: 1, kind: 'final', ...(outcome ? { scorer: outcome.scorer } : {}) },
    terminated: isFinal,
    truncated: ended && !isFinal,
    success: outcome?.success ?? null,
    executable: answered.executable,
    admissibleActions: null,
    stateHash: stateHash(kind, after),
    toolCalls: answered.calls,
    ...(answered.pictures.length > 0 ? { pictures: answered.pictures } : {}),
    components: processReward(kind, answered),
    ...(ended ? { reason: reasons.filter((each) => each !== '').join('; ') } : {}),
  };
  return { after, result };
}

function processReward({ profile, fingerprint }: Kind, { reward }: AnsweredTurn): NonNullable<StepResult['components']> {
  if (reward === null) return [];
  return [{ component: 'tool', value: reward, scorer: { name: `tools-${profile}`, revision: fingerprint.slice(0, 16) } }];
}

function score({ profile, reward }: Kind, { task, turns, invalid }: Situation): Promise<ModuleReward> {
  const responses = turns.map(({ response }) => response);
  return reward.score({
    question: task.prompt,
    dataSource: task.dataSource,
    chat: writeChat(profile, turns),
    responses,
    answer: lastAnswer(responses.at(-1) ?? ''),
    groundTruth: task.groundTruth,
    golds: goldsOf(task.groundTruth),
    invalidActions: invalid,
    environmentScore: null,
    success: null,
  });
}

/**
 * The next response of a player who knows the way: the searches that lead there, then the answer. Null where the task has no
 * answer in words.
 */
function expertTurn({ profile, toolbox, maxTurns }: Kind, { task, turns, ended }: Situation): string | null {
  const [gold] = goldsOf(task.groundTruth);
  if (ended || gold === undefined) return null;
  const queries = toolbox.names.includes('search') && profile !== 'retool' ? (task.queries ?? []) : [];
  if (maxTurns - turns.length <= queries.length - turns.length) return null;
  const query = queries[turns.length];
  if (query === undefined)
    return `<think>I know the answer.</think>\n<answer>${profile === 'retool' ? `\\boxed{${gold}}` : gold}</answer>`;
  const call = JSON.stringify({ name: 'search', arguments: { query } });
  return `<think>I must look this up.</think>\n<tool_call>${call}</tool_call>`;
}

/** Hashes what all that follows depends on: the chat so far. */
function stateHash(kind: Kind, { task, turns, ended }: Situation): string {
  return sha256([kind.fingerprint, task.alias, ended, turns]);
}

function sha256(value: unknown): string {
  return sha256Hex(JSON.stringify(value));
}
