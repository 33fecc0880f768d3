import type { BlobStore } from '../../../blobs/blob-store.ts';
import { replyMessage } from '../../../domain/prompts/reply-message.ts';
import { pathTo } from '../../../domain/tree/grow-tree.ts';
import { rewardsAlong, sumByComponent } from '../../../domain/tree/trajectory.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { readAnnotationsOfTrees } from '../../../projections/annotations/read-annotations.ts';
import { readPictureIdsOfTree } from '../../../projections/pictures/read-pictures.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import { readRunsById } from '../../../projections/runs/read-runs.ts';
import { readRecordedTrees, weighTrees } from '../../../projections/trajectories/read-recorded-trees.ts';
import type { RecordedTree } from '../../../projections/trajectories/recorded-tree.ts';
import { type Selected, type SelectedTree, selectTrees } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { annotationsOn } from './annotations-on.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { readPromptsOf } from './read-prompts-of.ts';
import { resolvePacked, resolveReply, resolveTexts } from './resolve-texts.ts';

const TREES_AT_ONCE = 200; // small trees share their statements: 4 per 200 trees instead of 4 each
const BYTES_AT_ONCE = 8 * 1024 * 1024; // of text; one tree may be larger, and is then read alone

/**
 * Streams the trajectories of a query in its order. A tree is read once for all its trajectories; its shared steps are walked,
 * not copied.
 */
export async function* streamTrajectories(trx: Trx, query: TrajectoryQuery, blobs: BlobStore): AsyncGenerator<ExportTrajectory> {
  const configOf = configs(trx);
  for await (const batch of batchTrees(trx, selectTrees(trx, query))) {
    const ids = batch.map(({ treeId }) => treeId);
    const trees = await readRecordedTrees(trx, ids);
    const annotations = await readAnnotationsOfTrees(trx, ids);
    for (const { treeId, rollouts } of batch) {
      const tree = trees.get(treeId);
      if (!tree) throw new Error(`tree ${treeId} was there when counted in the same snapshot`);
      const config = await configOf(tree.head.runId);
      const prompts = await readPromptsOf(trx, blobs, treeId, stepsOf(tree, rollouts));
      const pictures = await readPictureIdsOfTree(trx, treeId);
      const shown = { prompts, picturesOf: (stepId: string) => (pictures.get(stepId) ?? []).map(({ imageId }) => imageId) };
      const ofTree = annotations.filter((each) => each.treeId === treeId);
      for (const selected of rollouts) {
        const composed = await composeTrajectory(tree, selected, shown, blobs);
        const stepIds = new Set(composed.steps.map(({ stepId }) => stepId));
        const { rolloutId } = selected;
        yield { ...composed, annotations: annotationsOn(ofTree, { rolloutId, stepIds }), config };
      }
    }
  }
}

/** Packs trees that are small enough to be read together; the order stays. */
export async function* batchTrees(trx: Trx, selected: AsyncIterable<SelectedTree>): AsyncGenerator<readonly SelectedTree[]> {
  for await (const candidates of chunk(selected, TREES_AT_ONCE)) {
    const weights = await weighTrees(
      trx,
      candidates.map(({ treeId }) => treeId),
    );
    let batch: SelectedTree[] = [];
    let bytes = 0;
    for (const tree of candidates) {
      const weight = weights.get(tree.treeId) ?? 0;
      if (batch.length > 0 && bytes + weight > BYTES_AT_ONCE) {
        yield batch;
        batch = [];
        bytes = 0;
      }
      batch.push(tree);
      bytes += weight;
    }
    if (batch.length > 0) yield batch;
  }
}

async function* chunk<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let held: T[] = [];
  for await (const item of items) {
    held.push(item);
    if (held.length === size) {
      yield held;
      held = [];
    }
  }
  if (held.length > 0) yield held;
}

/** Looks up the configuration of a run. Trajectories come run by run, so one is kept. */
export function configs(trx: Db): (runId: string) => Promise<unknown> {
  let kept: { readonly runId: string; readonly config: unknown } | undefined;
  return async (runId) => {
    if (kept?.runId !== runId) kept = { runId, config: (await readRunsById(trx, [runId]))[0]?.config };
    return kept.config;
  };
}

/** The steps on the paths of the chosen rollouts of a tree. */
export function stepsOf({ tree, rollouts }: RecordedTree, selected: readonly Selected[]): readonly string[] {
  const leaves = selected.flatMap(({ rolloutId }) => rollouts.get(rolloutId)?.leafStepId ?? []);
  return [...new Set(leaves.flatMap((leaf) => pathTo(tree, leaf).map(({ stepId }) => stepId)))];
}

/** What steps of a tree were asked with, and what they were shown. */
interface Shown {
  readonly prompts: ReadonlyMap<string, RecordedPrompt>;
  readonly picturesOf: (stepId: string) => readonly string[];
}

async function composeTrajectory(
  recorded: RecordedTree,
  selected: Selected,
  { prompts, picturesOf }: Shown,
  blobs: BlobStore,
): Promise<Omit<ExportTrajectory, 'annotations' | 'config'>> {
  const rollout = recorded.rollouts.get(selected.rolloutId);
  if (!rollout?.leafStepId) throw new Error(`rollout ${selected.rolloutId} was finished when selected in the same snapshot`);
  const place = `trajectory ${rollout.rolloutId}`;
  const path = pathTo(recorded.tree, rollout.leafStepId);
  const [root, ...rest] = path;
  if (!root) throw new Error('a path holds its own leaf');
  const steps: ExportTrajectory['steps'][number][] = [];
  for (const step of rest) {
    const at = `${place} step ${step.depth}`;
    const { reply, ...resolved } = await resolveTexts(step, blobs, at);
    steps.push({
      ...resolved,
      message: replyMessage({ ...resolved, reply: await resolveReply(reply, blobs, at) }),
      tokens: resolved.tokens && {
        ids: await resolvePacked(resolved.tokens.ids, blobs, at, 'tokens.ids'),
        logProbs: resolved.tokens.logProbs && (await resolvePacked(resolved.tokens.logProbs, blobs, at, 'tokens.logProbs')),
        mask: resolved.tokens.mask && (await resolvePacked(resolved.tokens.mask, blobs, at, 'tokens.mask')),
      },
      rewards: sumByComponent(recorded.rewards.ofStep.get(step.stepId) ?? []),
      pictures: picturesOf(step.stepId),
      prompt: prompts.get(step.stepId) ?? null,
    });
  }
  return {
    head: await resolveTexts(recorded.head, blobs, place),
    rollout,
    returnValue: selected.returnValue,
    rewards: sumByComponent(rewardsAlong({ path, rollout }, recorded.rewards)),
    rolloutRewards: sumByComponent(recorded.rewards.ofRollout.get(rollout.rolloutId) ?? []),
    root: await resolveTexts(root, blobs, place),
    firstPictures: picturesOf(root.stepId),
    steps,
  };
}
