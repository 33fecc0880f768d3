import { layOutRollout, type RolloutLayout } from '../../domain/training/rows/rollout-layout.ts';
import { type TrajectoryRow, trajectoryRows } from '../../domain/training/rows/trajectory-rows.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { StoredPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchReward, BatchRows, BatchTrajectory } from './batch-rows.ts';
import { baselineTensor, bordersOf, componentsOf, jaggedTokens, ownSteps, rewardTensor, totalOf } from './jagged.ts';
import type { LaidOut, NotLaidOut } from './layout.ts';
import type { Numbers, Tensor } from './safetensors.ts';
import { advantageColumns, type RowAdvantages, type SampledToken, textsOf } from './step-layout.ts';

/**
 * Lays a batch out with a row per trajectory: the prompt of its first step, then the tokens of its steps one after the other,
 * mask 1 on the policy's own, 0 on those that it was shown in between. Where a prompt does not continue the tokens before it,
 * the trajectory is cut and has a row per cut (`trajectoryRows`); `trajectory_index` and `cut_index` say which, `first_step`
 * and `num_turns` which of its steps. `step_indices` has the step of each token, `step_ends` the last sampled token of each
 * step, by its place in the row. `token_level_scores` has each step's reward there, and that of the whole rollout on the last
 * of all, which is on the last row of the trajectory. Only recorded ids are used: a trajectory without ids of its observations
 * is refused.
 */
export function verlLayout(
  rows: BatchRows,
  prompts: ReadonlyMap<string, StoredPrompt>,
  advantages: RowAdvantages | null = null,
): LaidOut | NotLaidOut {
  const { batch, trajectories } = rows;
  const placed: Placed[] = [];
  for (const [index, trajectory] of trajectories.entries()) {
    const merged = mergedRows(trajectory, prompts);
    if (merged.kind === 'refused') return merged;
    for (const row of merged.rows) placed.push({ row, index, trajectory, isLast: row === merged.rows.at(-1) });
  }
  const components = componentsOf(rows);
  const ofRows = (value: (each: Placed) => number) => Int32Array.from(placed, value);
  const flag = (value: (each: Placed) => boolean) => Uint8Array.from(placed, (each) => Number(value(each)));
  const shape = [placed.length];
  const tokenRows = placed.map(({ row }) => row);
  const images = placed.map((each) => imagesOf(each, prompts));
  return {
    kind: 'laid-out',
    tensors: [
      ...jaggedTokens(tokenRows, batch.policyId),
      ...promptTensors(tokenRows),
      ...advantageColumns(
        tokenRows.reduce((sum, { ids }) => sum + ids.length, 0),
        sampledTokensOf(placed),
        advantages,
      ),
      perToken('step_indices', tokenRows, ({ steps }) => steps, Int32Array),
      perToken('token_level_scores', tokenRows, ({ scores }) => scores, Float32Array),
      perToken('step_ends', tokenRows, ({ ends }) => ends, Int32Array),
      rewardTensor('rewards', components, placed.map(rewardsOf)),
      ...baselineTensor(placed.map(({ trajectory }) => trajectory)),
      { name: 'trajectory_index', shape, data: ofRows(({ index }) => index) },
      { name: 'cut_index', shape, data: ofRows(({ row }) => row.cut) },
      { name: 'first_step', shape, data: ofRows(({ row }) => row.from) },
      { name: 'num_turns', shape, data: ofRows(({ row }) => row.to - row.from) },
      { name: 'group_index', shape, data: ofRows(({ trajectory }) => trajectory.group) },
      { name: 'terminated', shape, data: flag(({ isLast, trajectory }) => isLast && trajectory.outcome === 'terminated') },
      { name: 'truncated', shape, data: flag(({ isLast, trajectory }) => isLast && trajectory.outcome === 'truncated') },
    ],
    names: {
      components,
      trajectories: trajectories.map(({ rolloutId }) => rolloutId),
      uids: trajectories.map(({ treeId }) => treeId),
      tokenised: 'recorded',
      ...(images.some((ids) => ids.length > 0) ? { images } : {}),
    },
    texts: trajectories.map(textsOf),
  };
}

interface Placed {
  readonly row: TrajectoryRow;
  readonly index: number;
  readonly trajectory: BatchTrajectory;
  readonly isLast: boolean;
}

function* sampledTokensOf(placed: readonly Placed[]): Generator<SampledToken> {
  let from = 0;
  for (const { row, trajectory } of placed) {
    const own = ownSteps(trajectory);
    for (const [at, sampled] of row.mask.entries())
      if (sampled === 1) yield { at: from + at, treeId: trajectory.treeId, stepId: own[row.steps[at] ?? 0]?.stepId ?? '' };
    from += row.ids.length;
  }
}

/** Rewards of the steps of a row; those of the whole rollout are its last row's. */
function rewardsOf({ row, trajectory, isLast }: Placed): readonly BatchReward[] {
  const steps = ownSteps(trajectory).slice(row.from, row.to);
  return [...steps.flatMap((step) => step.rewards), ...(isLast ? trajectory.rewards : [])];
}

/** The images in the prompts of a row: those of its last prompt, which begins with the others. */
function imagesOf({ row, trajectory }: Placed, prompts: ReadonlyMap<string, StoredPrompt>): readonly string[] {
  return imagesIn(prompts.get(keyInTree(trajectory.treeId, ownSteps(trajectory)[row.to - 1]?.stepId ?? '')));
}

function promptTensors(rows: readonly TrajectoryRow[]): readonly Tensor[] {
  const borders = bordersOf(rows.map(({ promptIds }) => promptIds?.length ?? 0));
  return [
    { name: 'prompt_cu_seqlens', shape: [borders.length], data: borders },
    perToken('prompts', rows, ({ promptIds }) => promptIds ?? [], Int32Array),
    { name: 'has_prompts', shape: [rows.length], data: Uint8Array.from(rows, ({ promptIds }) => Number(promptIds !== null)) },
  ];
}

function perToken(
  name: string,
  rows: readonly TrajectoryRow[],
  of: (row: TrajectoryRow) => ArrayLike<number>,
  Numbers: Int32ArrayConstructor | Float32ArrayConstructor,
): Tensor {
  const borders = bordersOf(rows.map((row) => of(row).length));
  const data = new Numbers(borders.at(-1) ?? 0);
  for (const [i, row] of rows.entries()) data.set(of(row), borders[i] ?? 0);
  return { name, shape: [data.length], data };
}

/** Entries of a padded column, 256 MiB as int32: with one long row among many short ones, most of a batch is padding. */
const MOST_ENTRIES = 2 ** 26;
/** Columns with a value per token of the response, and what padding holds there. */
const PADDING: Readonly<Record<string, number>> = {
  rollout_log_probs: 0,
  token_level_scores: 0,
  policy_versions: -1, // the version of a token that no policy sampled
  step_indices: -1,
  advantages: 0,
  returns: 0,
};
/** Columns that the rectangles replace. */
const REPLACED: ReadonlySet<string> = new Set(['cu_seqlens', 'responses', 'response_mask', 'prompts', 'prompt_cu_seqlens']);

/**
 * Pads the rows of the layout `verl` to rectangles for trainers that read those (verl's `DataProto`, Agent-R1): `prompts` [rows,
 * P] padded on the left, `responses` [rows, R] padded on the right, `input_ids`, `attention_mask` (1 on tokens) and
 * `position_ids` [rows, P + R], `response_mask` (1 on sampled tokens) and every other token column [rows, R]. Where no prompt of
 * the batch has token ids, P is 0: whoever puts a prompt before a row adds its length to the positions.
 */
export function paddedLayout(
  rows: BatchRows,
  prompts: ReadonlyMap<string, StoredPrompt>,
  advantages: RowAdvantages | null = null,
): LaidOut | NotLaidOut {
  const jagged = verlLayout(rows, prompts, advantages);
  if (jagged.kind === 'refused') return jagged;
  const tensors = new Map(jagged.tensors.map((tensor) => [tensor.name, tensor]));
  const column = (name: string): Numbers => tensors.get(name)?.data ?? new Int32Array();
  const responses = spansOf(column('cu_seqlens'));
  const asked = spansOf(column('prompt_cu_seqlens'));
  const [response, prompt] = [widestOf(responses), widestOf(asked)];
  const width = prompt + response;
  if (responses.length * width > MOST_ENTRIES)
    return {
      kind: 'refused',
      message: `${responses.length} rows padded to ${width} tokens have more than ${MOST_ENTRIES} entries`,
      remedy: 'ask for layout=verl, which pads nothing, or plan smaller batches',
    };
  const laidOut = responses.map(({ from, to }, i) => {
    const ids = [...column('responses').slice(from, to)];
    const mask = column('response_mask').slice(from, to);
    const turns = ids.map((id, t) => (mask[t] === 1 ? { sampled: [id], answered: [] } : { sampled: [], answered: [id] }));
    const before = asked[i] ?? { from: 0, to: 0 };
    return layOutRollout([...column('prompts').slice(before.from, before.to)], turns, { prompt, response, padId: 0 });
  });
  const joined = (name: string, columns: number, of: (row: RolloutLayout) => Int32Array | Uint8Array): Tensor => {
    const size = laidOut.length * columns;
    const data = name.endsWith('_mask') ? new Uint8Array(size) : new Int32Array(size);
    for (const [i, row] of laidOut.entries()) data.set(of(row), i * columns);
    return { name, shape: [laidOut.length, columns], data };
  };
  const own =
    prompt === 0 ? [] : [joined('prompts', prompt, (row) => row.prompts), joined('input_ids', width, (row) => row.inputIds)];
  return {
    ...jagged,
    tensors: [
      ...own,
      joined('responses', response, (row) => row.responses),
      joined('attention_mask', width, (row) => row.attentionMask),
      joined('response_mask', response, (row) => row.actionMask),
      joined('position_ids', width, (row) => row.positionIds),
      ...Object.entries(PADDING).flatMap(([name, padding]) =>
        tensors.has(name) ? [padded(name, column(name), responses, response, padding)] : [],
      ),
      ...jagged.tensors.filter(({ name }) => !REPLACED.has(name) && PADDING[name] === undefined),
    ],
  };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function spansOf(borders: Numbers): readonly Span[] {
  return Array.from(borders.subarray(1), (to, i) => ({ from: borders[i] ?? 0, to }));
}

function widestOf(spans: readonly Span[]): number {
  return spans.reduce((most, { from, to }) => Math.max(most, to - from), 0);
}

function padded(name: string, values: Numbers, spans: readonly Span[], widest: number, padding: number): Tensor {
  const size = spans.length * widest;
  const data = values instanceof Int32Array ? new Int32Array(size).fill(padding) : new Float32Array(size).fill(padding);
  for (const [i, { from, to }] of spans.entries()) data.set(values.subarray(from, to), i * widest);
  return { name, shape: [spans.length, widest], data };
}

/** Merges the steps that a rollout took into rows of recorded ids; refuses a trajectory that has not all of them. @param prompts by `keyInTree`. */
function mergedRows(
  trajectory: BatchTrajectory,
  prompts: ReadonlyMap<string, StoredPrompt>,
): { readonly kind: 'rows'; readonly rows: readonly TrajectoryRow[] } | NotLaidOut {
  const own = ownSteps(trajectory);
  const steps = own.map(({ stepId, tokens, spans, rewards }) => {
    const prompt = prompts.get(keyInTree(trajectory.treeId, stepId));
    return { promptIds: prompt?.tokenIds ?? null, images: imagesIn(prompt), tokens, spans, reward: totalOf(rewards) };
  });
  const found = trajectoryRows(steps, totalOf(trajectory.rewards));
  if (found.kind === 'rows') return found;
  const { stepId } = own[found.step] ?? { stepId: '' }; // the step of a place
  const where = `step ${stepId} of rollout ${trajectory.rolloutId}`;
  return {
    kind: 'refused',
    message:
      found.what === 'sampled'
        ? `the layout verl needs every token of a trajectory: ${where} has no recorded tokens of the policy`
        : `the layout verl needs every token of a trajectory: ${where} has no recorded tokens of its observation, and the prompt behind it has no token ids`,
    remedy:
      'ask for layout=step, or collect with a server that returns prompt_token_ids and token_ids (vLLM from 0.10.2); `espalier export --format verl --tokenizer DIR` tokenises texts',
  };
}

/** The images that a prompt shows, in order. */
function imagesIn(prompt: StoredPrompt | null | undefined): readonly string[] {
  return prompt?.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'image' ? [part.imageId] : []))) ?? [];
}
