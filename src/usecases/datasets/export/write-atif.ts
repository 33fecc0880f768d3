import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { messageText } from '../../../domain/prompts/same-message.ts';
import { callsOf, chatTools, reasoningOf } from '../../../domain/prompts/served-message.ts';
import { DatasetError } from '../dataset-error.ts';
import { type ExportStep, type ExportTrajectory, labelLines } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';
import { float, RawJson } from './json-line.ts';
import { argumentsValue, contentOf } from './message-forms.ts';
import { stepTokens } from './verl-rows.ts';
import { type FormatEntry, writeBodies } from './write-trajectories.ts';

/** The version of the Agent Trajectory Interchange Format (Harbor's RFC 0001) that is written. */
const ATIF_VERSION = 'ATIF-v1.7';

/**
 * Writes a trajectory as one line of ATIF: the instruction as a step of the system, the first observation as one of the user,
 * then a step of the agent per reply with its reasoning, its calls of tools and what followed as its observation, token ids and log-probabilities in its metrics.
 * Replies that are not trained on are `is_copied_context`. `extra.espalier` leads back to the record and holds rewards, outcome,
 * success and labels. ATIF has no place for the prompt that a reply was asked with, nor for pictures drawn of it.
 */
export function atifBody(trajectory: ExportTrajectory, { weights: rule }: Extract<ExportFormat, { kind: 'atif' }>): object {
  const { head, root, firstPictures = [], steps, rollout, returnValue, rolloutRewards, annotations } = trajectory;
  if (firstPictures.length > 0 || steps.some(({ pictures = [] }) => pictures.length > 0))
    throw new DatasetError(
      'picture',
      `trajectory ${rollout.rolloutId} was shown a picture, which a line of ATIF has no place for; export --format parquet or jsonl, or leave the run out by a filter`,
    );
  const weights = turnWeights(steps, rollout, rule);
  const tools = steps.find(({ prompt }) => prompt?.tools)?.prompt?.tools ?? null;
  const opening = [
    ...(head.instruction === '' ? [] : [{ source: 'system', message: head.instruction }]),
    ...(root.observation === '' ? [] : [{ source: 'user', message: root.observation }]),
  ];
  const replies = steps.map((step, i) => ({
    source: 'agent',
    model_name: step.policySpans[0]?.policyId ?? rollout.policyId,
    message: step.response,
    ...calledIn(step, `trajectory ${rollout.rolloutId} step ${step.depth}`),
    ...observedAfter(step, steps[i + 1]),
    ...metricsOf(step),
    ...(weights[i] === 1 ? {} : { is_copied_context: true }),
    extra: {
      step_id: step.stepId,
      action: step.action,
      executable: step.executable,
      labels: labelLines(annotations.filter(({ stepId }) => stepId === step.stepId)),
    },
  }));
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
    steps: [...opening, ...replies].map((step, i) => ({ step_id: i + 1, ...step })),
    final_metrics: {
      ...(known ? { total_prompt_tokens: total('promptTokens'), total_completion_tokens: total('completionTokens') } : {}),
      total_steps: opening.length + replies.length,
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
        labels: labelLines(annotations),
        rewards: [...steps.flatMap((step, i) => rewardsOf(step.rewards, i)), ...rewardsOf(rolloutRewards, null)],
      },
    },
  };
}

/** @throws DatasetError `structure`: arguments of a call are an object in ATIF. */
function calledIn({ message }: ExportStep, place: string): object {
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

/**
 * Returns what followed on a step: the results of its calls as the next prompt shows them behind its reply, else the text of the
 * observation.
 */
function observedAfter({ observation, message, prompt }: ExportStep, next: ExportStep | undefined): object {
  const shown = next?.prompt?.messages.slice((prompt?.messages.length ?? 0) + 1) ?? [];
  const calls = callsOf(message);
  const isResult = (each: PolicyMessage) => each.role === 'tool' && contentOf(each).every(({ kind }) => kind === 'text');
  if (calls.length > 0 && shown.length > 0 && shown.every(isResult))
    return {
      observation: {
        results: shown.map((result, i) => ({
          source_call_id: result.toolCallId ?? calls[i]?.id ?? callName(i),
          content: messageText(result),
        })),
      },
    };
  return observation === '' ? {} : { observation: { results: [{ content: observation }] } };
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

export const atifFormat: FormatEntry<'atif'> = {
  version: 3,
  container: 'lines',
  options: ({ weights }) => ({ weights }),
  notes: () => [
    'note: ATIF has no place for prompts, pictures and cuts of a trajectory; readers that train leave out steps with is_copied_context',
  ],
  write: (job) => writeBodies(job, async (each) => (each.steps.length === 0 ? [] : [atifBody(each, job.format)])),
};
