import type { TrajectoryRow } from '../../domain/training/rows/trajectory-rows.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { ShownPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchReward, BatchRows, BatchTrajectory } from './batch-rows.ts';
import { bordersOf, jaggedTokens, ownSteps } from './jagged.ts';
import type { LaidOut, NotLaidOut } from './layout.ts';
import { imagesIn, mergedRows } from './merged-rows.ts';
import { baselineTensor, componentsOf, rewardTensor } from './reward-columns.ts';
import { advantageColumns, type RowAdvantages, type SampledToken } from './row-advantages.ts';
import type { Tensor } from './safetensors.ts';
import { textsOf } from './step-layout.ts';

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
  prompts: ReadonlyMap<string, ShownPrompt>,
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
function imagesOf({ row, trajectory }: Placed, prompts: ReadonlyMap<string, ShownPrompt>): readonly string[] {
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
