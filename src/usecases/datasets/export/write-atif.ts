import type { ShownStep } from '../../../domain/dataset/shown-rows.ts';
import { turnWeights, type WeightRule } from '../../../domain/dataset/turn-weights.ts';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { messageText } from '../../../domain/prompts/same-message.ts';
import { callsOf, chatTools, reasoningOf } from '../../../domain/prompts/served-message.ts';
import { DatasetError } from '../dataset-error.ts';
import { type ExportTrajectory, labelLines } from './export-trajectory.ts';
import type { FormatEntry } from './format.ts';
import { float, RawJson } from './json-line.ts';
import { argumentsValue, contentOf } from './message-forms.ts';
import { shownSteps } from './shown-steps.ts';
import { stepTokens } from './verl-rows.ts';
import { writeBodies } from './write-trajectories.ts';

/** One trajectory per line in the Agent Trajectory Interchange Format. */
interface AtifFormat {
  readonly kind: 'atif';
  readonly weights: WeightRule;
}

/** The version of the Agent Trajectory Interchange Format (Harbor's RFC 0001) that is written. */
const ATIF_VERSION = 'ATIF-v1.7';

/**
 * Writes a trajectory as one line of ATIF: the instruction as a step of the system, the first observation as one of the user,
 * then a step of the agent per reply with its reasoning, its calls of tools and what followed as its observation, token ids and log-probabilities in its metrics.
 * Replies that are not trained on are `is_copied_context`. A first prompt with replies, such as examples, is written whole.
 * `extra.espalier` leads back to the record and holds rewards, outcome, success and labels. ATIF has no place for another prompt that
 * a reply was asked with, nor for pictures drawn of it.
 */
export function atifBody(trajectory: ExportTrajectory, { weights: rule }: AtifFormat): object {
  const { head, root, firstPictures = [], steps, rollout, returnValue, rolloutRewards, annotations } = trajectory;
  if (firstPictures.length > 0 || steps.some(({ pictures = [] }) => pictures.length > 0))
    throw new DatasetError(
      'picture',
      `trajectory ${rollout.rolloutId} was shown a picture, which a line of ATIF has no place for; export --format parquet or jsonl, or leave the run out by a filter`,
    );
  const weights = turnWeights(steps, rollout, rule);
  const tools = steps.find(({ prompt }) => prompt?.tools)?.prompt?.tools ?? null;
  const shown = shownSteps({ instruction: head.instruction, firstObservation: root.observation, steps }, weights);
  const [asked] = shown;
  const opening = asked?.prompt.some(({ role }) => role === 'assistant')
    ? promptSteps(asked.prompt, `trajectory ${rollout.rolloutId}`)
    : null;
  const opened = opening ?? [
    ...(head.instruction === '' ? [] : [{ source: 'system', message: head.instruction }]),
    ...(root.observation === '' ? [] : [{ source: 'user', message: root.observation }]),
  ];
  const taken = steps.flatMap((step, i) => {
    const reply = shown[i]!.reply; // one for each step
    const place = `trajectory ${rollout.rolloutId} step ${step.depth}`;
    const { observation, more } = observedAfter(step.observation, shown[i]!, shown[i + 1], place);
    const ofAgent = {
      source: 'agent',
      model_name: step.policySpans[0]?.policyId ?? rollout.policyId,
      message: messageText(reply),
      ...calledIn(reply, place),
      ...(observation ? { observation } : {}),
      ...metricsOf(step),
      ...(weights[i] === 1 ? {} : { is_copied_context: true }),
      extra: {
        step_id: step.stepId,
        action: step.action,
        executable: step.executable,
        labels: labelLines(annotations.filter(({ stepId }) => stepId === step.stepId)),
      },
    };
    return [ofAgent, ...more];
  });
  const written = [...opened, ...taken];
  const known = steps.every(({ promptTokens, completionTokens }) => promptTokens !== null && completionTokens !== null);
  const total = (of: 'promptTokens' | 'completionTokens') => steps.reduce((sum, step) => sum + (step[of] ?? 0), 0);
  return {
    schema_version: ATIF_VERSION,
    session_id: head.treeId,
    trajectory_id: rollout.rolloutId,
    agent: {
      name: rollout.policyId,
      version: String(rollout.policyVersion),
      model_name: rollout.policyId,
      ...(tools === null ? {} : { tool_definitions: new RawJson(chatTools(tools)) }),
    },
    steps: written.map((step, i) => ({ step_id: i + 1, ...step })),
    final_metrics: {
      ...(known ? { total_prompt_tokens: total('promptTokens'), total_completion_tokens: total('completionTokens') } : {}),
      total_steps: written.length,
    },
    extra: {
      ...(returnValue === null ? {} : { reward: float(returnValue) }),
      espalier: {
        run: head.runId,
        task: head.taskId,
        environment: head.environment,
        fingerprint: head.serverFingerprint,
        alias: head.alias,
        goal: head.goal,
        split: head.split ?? '',
        policy: { id: rollout.policyId, version: rollout.policyVersion },
        outcome: rollout.outcome ?? 'terminated',
        success: rollout.success,
        ...(opening ? { opening: { instruction: head.instruction, observation: root.observation } } : {}),
        labels: labelLines(annotations),
        rewards: [...steps.flatMap((step, i) => rewardsOf(step.rewards, i)), ...rewardsOf(rolloutRewards, null)],
      },
    },
  };
}

interface AtifStep {
  readonly source: 'system' | 'user' | 'agent';
  readonly message: string;
  readonly is_copied_context?: true;
  observation?: { readonly results: readonly object[] };
}

/**
 * Writes a prompt as steps: what the system says first and what comes behind the last reply as they are, the others as copied
 * context; results of tools are observed by the step before them. @throws DatasetError `picture`, `structure`.
 */
function promptSteps(messages: readonly PolicyMessage[], place: string): readonly AtifStep[] {
  const copiedFrom = messages.findIndex(({ role }) => role !== 'system');
  const copiedTo = messages.findLastIndex(({ role }) => role === 'assistant');
  const steps: AtifStep[] = [];
  let answered = messages.slice(0, 0);
  for (const [i, message] of messages.entries()) {
    if (contentOf(message).some(({ kind }) => kind === 'image'))
      throw new DatasetError(
        'picture',
        `${place}: its first prompt shows a picture, which a line of ATIF has no place for; export --format parquet or jsonl, or leave the run out by a filter`,
      );
    const copied = i >= copiedFrom && i <= copiedTo ? { is_copied_context: true as const } : {};
    const last = steps.at(-1);
    if (message.role === 'tool') {
      if (last?.source !== 'agent')
        throw new DatasetError(
          'structure',
          `${place}: a result of a tool in its first prompt follows no reply, which ATIF has no place for; export --format openai or jsonl, or leave the run out by a filter`,
        );
      answered = [...answered, message];
      last.observation = { results: resultsOf(answered, messages[i - answered.length]) };
      continue;
    }
    answered = [];
    const source = message.role === 'assistant' ? 'agent' : message.role;
    steps.push({ source, message: messageText(message), ...calledIn(message, place), ...copied, ...namedBy(message) });
  }
  return steps;
}

/** @throws DatasetError `structure`: arguments of a call are an object in ATIF. */
function calledIn(message: PolicyMessage, place: string): object {
  const reasoning = reasoningOf(message);
  const calls = callsOf(message);
  return {
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: given }, i) => {
            const value = argumentsValue(given);
            if (typeof value === 'string')
              throw new DatasetError(
                'structure',
                `${place}: the arguments of its call of ${name} are no JSON object, which ATIF has no place for; export --format openai or jsonl, or leave the run out by a filter`,
              );
            return { tool_call_id: id ?? callName(i), function_name: name, arguments: value };
          }),
        }),
  };
}

/** Names a call without an id: ATIF links results by ids. */
function callName(place: number): string {
  return `call_${place + 1}`;
}

/** Returns the tool or the person that speaks, for which ATIF has no field. */
function namedBy({ name }: PolicyMessage): { readonly extra?: { readonly name: string } } {
  return name === undefined ? {} : { extra: { name } };
}

interface Observed {
  readonly observation: { readonly results: readonly object[] } | null;
  /** Steps of the system and the user behind it. */
  readonly more: readonly AtifStep[];
}

/**
 * Returns what followed on a step: the results of its calls as the next prompt shows them behind its reply, and messages of the
 * system as steps; else the text of the observation.
 */
function observedAfter(text: string, { prompt, reply }: ShownStep, next: ShownStep | undefined, place: string): Observed {
  const plain: Observed = { observation: text === '' ? null : { results: [{ content: text }] }, more: [] };
  if (next?.prompt[prompt.length]?.role !== 'assistant') return plain; // it does not continue this one
  const behind = next.prompt.slice(prompt.length + 1);
  const firstOther = behind.findIndex(({ role }) => role !== 'tool');
  const results = firstOther < 0 ? behind : behind.slice(0, firstOther);
  const others = behind.slice(results.length);
  const isText = (each: PolicyMessage) => contentOf(each).every(({ kind }) => kind === 'text');
  const isKept = (callsOf(reply).length > 0 && results.length > 0) || others.some(({ role }) => role === 'system');
  if (!isKept || !behind.every(isText) || others.some(({ role }) => role !== 'user' && role !== 'system')) return plain;
  return {
    observation: results.length === 0 ? null : { results: resultsOf(results, reply) },
    more: others.length === 0 ? [] : promptSteps(others, place),
  };
}

function resultsOf(results: readonly PolicyMessage[], reply: PolicyMessage | undefined): readonly object[] {
  const calls = reply ? callsOf(reply) : [];
  return results.map((result, i) => ({
    source_call_id: result.toolCallId ?? calls[i]?.id ?? callName(i),
    content: messageText(result),
    ...namedBy(result),
  }));
}

function rewardsOf(rewards: Readonly<Record<string, number>>, step: number | null): readonly object[] {
  return Object.entries(rewards).map(([component, value]) => ({ component, value: float(value), step }));
}

function metricsOf(step: ExportTrajectory['steps'][number]): object {
  const tokens = stepTokens(step);
  const { promptTokens, completionTokens } = step;
  const sampled = <T>(values: readonly T[]) => values.filter((_, i) => tokens?.mask[i] === 1);
  const metrics = {
    ...(promptTokens === null ? {} : { prompt_tokens: promptTokens }),
    ...(completionTokens === null ? {} : { completion_tokens: completionTokens }),
    ...(tokens ? { completion_token_ids: sampled(tokens.ids) } : {}),
    ...(tokens?.logProbs ? { logprobs: sampled(tokens.logProbs).map(float) } : {}),
    ...(step.prompt?.tokenIds ? { prompt_token_ids: Array.from(step.prompt.tokenIds) } : {}),
  };
  return Object.keys(metrics).length === 0 ? {} : { metrics };
}

export const atifFormat: FormatEntry<AtifFormat> = {
  kind: 'atif',
  version: 4,
  container: 'lines',
  options: ({ weights }) => ({ weights }),
  notes: () => [
    'note: ATIF has no place for prompts that do not continue each other, pictures and cuts of a trajectory; readers that train leave out steps with is_copied_context',
  ],
  write: (job) => writeBodies(job, async (each) => (each.steps.length === 0 ? [] : [atifBody(each, job.format)])),
};
