import { pictureIds, type ShownStep } from '../../../domain/dataset/shown-rows.ts';
import { isStructured } from '../../../domain/prompts/same-message.ts';
import { sumAmounts } from '../../../domain/reward/amount.ts';
import { findTokenValueFault } from '../../../domain/training/planning/record-fault.ts';
import { type TokenStep, type TrajectoryRow, trajectoryRows } from '../../../domain/training/rows/trajectory-rows.ts';
import { unpack } from '../../../events/packed.ts';
import type { RecordedStep } from '../../../projections/trajectories/recorded-tree.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ChatTokenizer, ChatWithTools } from './chat-tokenizer.ts';
import type { ExportStep, ExportTrajectory } from './export-trajectory.ts';
import { wordsPrompts } from './shown-steps.ts';

/** Rows of token ids of a trajectory, and of which of its own steps ids were made by a tokenizer. */
interface TrajectoryRows {
  readonly rows: readonly TrajectoryRow[];
  readonly retokenised: ReadonlySet<number>;
}

/**
 * Lays steps of a path out as rows of token ids: one, or one per cut. Ids are those on record; what has none is tokenised where a
 * tokenizer is given, and so is a reply whose ids came without those of its prompt and say another text: the choices of a linear
 * policy are no tokens. @param  what each of these steps was asked with.
 * @throws DatasetError `missing-tokens` that names the step and the remedy, `bad-row` for ids that the tokenizer does not have.
 */
export function tokenRowsOf(
  trajectory: ExportTrajectory,
  shown: readonly ShownStep[],
  tokenizer: ChatTokenizer | null,
): TrajectoryRows {
  const { steps: own } = trajectory;
  const retokenised = new Set<number>();
  const steps: TokenStep[] = [];
  for (const [i, step] of own.entries()) {
    const asked = shown[i];
    const before = steps.at(-1)?.tokens;
    const found = recordedStep(step, asked);
    const recorded = tokenizer && areChoices(found, step, tokenizer) ? { ...found, tokens: null } : found;
    // What its producer recorded behind the step before is the observation already.
    const holdsPrompt = recorded.promptIds !== null || before?.mask.at(-1) === 0;
    const whole = recorded.tokens !== null && holdsPrompt;
    if (tokenizer) refuseForeign(trajectory, step, recorded, tokenizer);
    if (tokenizer === null || whole) {
      steps.push(recorded);
      continue;
    }
    retokenised.add(i);
    steps.push({
      ...recorded,
      tokens: recorded.tokens ?? sampledAll(replyOf(trajectory, step, asked, tokenizer)),
      promptIds: holdsPrompt ? recorded.promptIds : promptOf(trajectory, step, asked, tokenizer),
    });
  }
  const laid = trajectoryRows(steps, sumAmounts(Object.values(trajectory.rolloutRewards)));
  if (laid.kind === 'missing') throw missing(trajectory, own[laid.step], laid.what);
  return { rows: laid.rows, retokenised };
}

/** Whether the ids of a reply stand for no text of it: a server that has a tokenizer returns the ids of the prompt too. */
function areChoices({ promptIds, tokens }: TokenStep, { message }: ExportStep, tokenizer: ChatTokenizer): boolean {
  if (promptIds !== null || tokens === null) return false;
  return !tokenizer.reads(
    Array.from(tokens.ids).filter((_, i) => tokens.mask[i] === 1),
    message,
  );
}

function recordedStep(step: ExportStep, asked: ShownStep | undefined): TokenStep {
  const tokens = stepTokens(step);
  return {
    promptIds: step.prompt?.tokenIds ?? null,
    images: pictureIds(asked?.prompt ?? []),
    tokens: tokens && {
      ids: Int32Array.from(tokens.ids),
      mask: Uint8Array.from(tokens.mask),
      logProbs: tokens.logProbs && Float32Array.from(tokens.logProbs),
    },
    spans: step.policySpans,
    reward: sumAmounts(Object.values(step.rewards)),
  };
}

/** Makes the tokens of a reply whose ids a tokenizer made. */
export function sampledAll(ids: readonly number[]): NonNullable<TokenStep['tokens']> {
  return { ids: Int32Array.from(ids), mask: new Uint8Array(ids.length).fill(1), logProbs: null };
}

/** Tokenises what a step was asked with. @throws DatasetError where that is no text, or is not on record. */
function promptOf(
  trajectory: ExportTrajectory,
  step: ExportStep,
  asked: ShownStep | undefined,
  tokenizer: ChatTokenizer,
): Int32Array {
  const place = placeOf(trajectory, step);
  const chat = chatOf(trajectory, step, asked);
  return Int32Array.from(tokenizer.prompt(chat, place));
}

/** Tokenises a reply: behind its prompt where it is more than a text. */
function replyOf(
  trajectory: ExportTrajectory,
  step: ExportStep,
  asked: ShownStep | undefined,
  tokenizer: ChatTokenizer,
): readonly number[] {
  const chat = isStructured(step.message) ? chatOf(trajectory, step, asked) : { messages: [], tools: null };
  return tokenizer.reply(chat, step.message, placeOf(trajectory, step));
}

/** @throws DatasetError where what a step was asked with is no text, or is not on record. */
function chatOf(trajectory: ExportTrajectory, step: ExportStep, asked: ShownStep | undefined): ChatWithTools {
  const place = placeOf(trajectory, step);
  if (!asked || (asked.source === 'composed' && wordsPrompts(trajectory.config)))
    throw new DatasetError(
      'missing-prompt',
      `${place}: its run words prompts itself, and the record does not hold this one; leave the run out by a filter`,
    );
  if (pictureIds(asked.prompt).length > 0)
    throw new DatasetError(
      'missing-tokens',
      `${place} was asked with a picture, whose token ids a tokenizer of texts does not know; collect with a server that returns prompt_token_ids, or export --layout step`,
    );
  return { messages: asked.prompt, tools: asked.tools };
}

/** Refuses ids on record that are none of the tokenizer: the tokens of another model. */
function refuseForeign(
  trajectory: ExportTrajectory,
  step: ExportStep,
  { promptIds, tokens }: TokenStep,
  tokenizer: ChatTokenizer,
): void {
  for (const ids of [promptIds, tokens?.ids ?? null]) {
    const foreign = ids?.find((id) => id >= tokenizer.size);
    if (foreign !== undefined)
      throw new DatasetError(
        'bad-row',
        `${placeOf(trajectory, step)} has the token id ${foreign}, outside the vocabulary of ${tokenizer.size} in ${tokenizer.folder}; give the tokenizer of the model that sampled it`,
      );
  }
}

function missing(trajectory: ExportTrajectory, step: ExportStep | undefined, what: 'sampled' | 'observation'): DatasetError {
  const lack =
    what === 'sampled'
      ? 'has no token ids: its policy has none, or its model server returned none'
      : 'has the ids of what was sampled, but not of the observation that followed it: the server returned no prompt_token_ids';
  return new DatasetError(
    'missing-tokens',
    `${step ? placeOf(trajectory, step) : ''} ${lack}. A row of a trajectory needs the ids of every token; collect with a server that returns them (vLLM from 0.10.2), give --tokenizer DIR to tokenise texts (rows say so), export --layout step, which needs none, or choose other runs with --run or --policy`,
  );
}

function placeOf({ head, rollout }: ExportTrajectory, { depth }: ExportStep): string {
  return `trajectory ${rollout.rolloutId} of run ${head.runId} (${rollout.policyId}): step ${depth}`;
}

/**
 * The tokens of one step as recorded: mask 1 where the policy sampled, 0 where it was shown; log-probabilities 0 where it was
 * shown.
 */
export interface StepTokens {
  readonly ids: readonly number[];
  readonly mask: readonly number[];
  readonly logProbs: readonly number[] | null;
}

/**
 * Unpacks the tokens of a step; null where the engine gave none. Without a mask all are the policy's own. @throws DatasetError
 * `bad-row`.
 */
export function stepTokens({ tokens, stepId }: Pick<RecordedStep, 'tokens' | 'stepId'>): StepTokens | null {
  if (tokens === null) return null;
  const ids = unpack(tokens.ids);
  const mask = tokens.mask === null ? ids.map(() => 1) : unpack(tokens.mask);
  const logProbs = tokens.logProbs && unpack(tokens.logProbs).map((value, i) => (mask[i] === 1 ? value : 0));
  if (mask.length !== ids.length || (logProbs !== null && logProbs.length !== ids.length))
    throw new DatasetError(
      'bad-row',
      `step ${stepId}: ${ids.length} token ids, ${mask.length} of a mask and ${logProbs?.length ?? 'no'} log-probabilities do not fit each other; leave this trajectory out by a filter`,
    );
  const fault = findTokenValueFault(`step ${stepId}`, { ids, mask, logProbs });
  if (fault !== null) throw new DatasetError('bad-row', `${fault}; leave this trajectory out by a filter`);
  return { ids, mask, logProbs };
}

/** The steps that the rollout itself took: those before are of an earlier rollout, and are its prompt. */
export function splitOwn({ rollout, root, steps }: ExportTrajectory): {
  readonly context: readonly ExportStep[];
  readonly own: readonly ExportStep[];
} {
  const from = rollout.fromStepId === root.stepId ? 0 : steps.findIndex(({ stepId }) => stepId === rollout.fromStepId) + 1;
  return { context: steps.slice(0, from), own: steps.slice(from) };
}

/** As `splitOwn`, what others took at the beginning (a guide, an imported context) with the prompt. */
export function splitPolicy(trajectory: ExportTrajectory): ReturnType<typeof splitOwn> {
  const { context, own } = splitOwn(trajectory);
  const index = own.findIndex((step) => tookBy(step, trajectory.rollout));
  const from = index < 0 ? own.length : index;
  return { context: [...context, ...own.slice(0, from)], own: own.slice(from) };
}

/** Counts the steps that others took. */
export function othersInside(steps: readonly ExportStep[], rollout: ExportTrajectory['rollout']): number {
  return steps.filter((step) => !tookBy(step, rollout)).length;
}

/** Whether the policy of a rollout took a step: what others took is nothing to train it on. */
export function tookBy({ policySpans }: ExportStep, { policyId }: ExportTrajectory['rollout']): boolean {
  return policySpans.some((span) => span.policyId === policyId);
}
