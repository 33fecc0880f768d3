import type { BlobStore } from '../../../blobs/blob-store.ts';
import { type ReplyStructure, replyMessage } from '../../../domain/prompts/same-message.ts';
import { pathTo } from '../../../domain/tree/grow-tree.ts';
import { rewardsAlong, sumByComponent } from '../../../domain/tree/trajectory.ts';
import type { Packed } from '../../../events/schemas/values.ts';
import type { Blobs } from '../../../postgres/column-types.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { readAnnotationsOfTrees } from '../../../projections/annotations/read-annotations.ts';
import { readPictureIdsOfTree } from '../../../projections/pictures/read-pictures.ts';
import { PromptUnreadable } from '../../../projections/prompts/prompt-unreadable.ts';
import { type RecordedPrompt, readPrompts } from '../../../projections/prompts/read-prompts.ts';
import { readRunsById } from '../../../projections/runs/read-runs.ts';
import { readRecordedTrees, weighTrees } from '../../../projections/trajectories/read-recorded-trees.ts';
import type { RecordedReply, RecordedTree } from '../../../projections/trajectories/recorded-tree.ts';
import { type Selected, type SelectedTree, selectTrees } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';
import { annotationsOn, type ExportTrajectory } from './export-trajectory.ts';

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

/**
 * Reads the prompts of steps of a tree, by their ids; steps without a recorded one are left out. @throws DatasetError `missing-prompt`
 * where the record does not come to what was shown, `blob`.
 */
export async function readPromptsOf(
  db: Db,
  blobs: Pick<BlobStore, 'get'>,
  treeId: string,
  steps: readonly string[],
): Promise<ReadonlyMap<string, RecordedPrompt>> {
  const bytes = ({ blob }: { readonly blob: string }) => fetchBlob(blobs, blob, 'prompts', 'a text');
  try {
    const prompts = await readPrompts(
      db,
      steps.map((id) => ({ treeId, id })),
      { bytes, text: async (reference) => Buffer.from(await bytes(reference)).toString('utf8') },
    );
    return new Map([...prompts.values()].map((prompt) => [prompt.stepId, prompt]));
  } catch (error) {
    if (!(error instanceof PromptUnreadable)) throw error;
    throw new DatasetError('missing-prompt', `${error.message}; leave the run out by a filter to export without it`, {
      cause: error,
    });
  }
}

/** What a payload belongs to, for the message when it is missing: `trajectory 01… step 3`. */
type PayloadOwner = string;

/**
 * Puts the texts that lie in the blob store into their fields. @throws DatasetError `blob` that names the place and the field.
 */
export async function resolveTexts<Row extends { readonly blobs: Blobs | null }>(
  row: Row,
  blobs: Pick<BlobStore, 'get'>,
  place: PayloadOwner,
): Promise<Row> {
  if (row.blobs === null) return row;
  const texts: Record<string, string> = {};
  for (const [field, { blob }] of Object.entries(row.blobs)) {
    texts[field] = Buffer.from(await fetchBlob(blobs, blob, place, field)).toString('utf8');
  }
  return { ...row, ...texts, blobs: null }; // `blobs` names text fields of the row only
}

/** Puts the arguments of calls of tools that are in the blob store into their fields. @throws DatasetError `blob`. */
export async function resolveReply(
  reply: RecordedReply | null,
  blobs: Pick<BlobStore, 'get'>,
  place: PayloadOwner,
): Promise<ReplyStructure | null> {
  if (reply === null) return null;
  const toolCalls: ReplyStructure['toolCalls'][number][] = [];
  for (const { id, name, arguments: given } of reply.toolCalls) {
    const text =
      typeof given === 'string'
        ? given
        : Buffer.from(await fetchBlob(blobs, given.blob, place, 'reply.toolCalls.arguments')).toString('utf8');
    toolCalls.push({ id, name, arguments: text });
  }
  return { reasoning: reply.reasoning, toolCalls };
}

/** Brings packed bytes inline from the blob store. @throws DatasetError `blob`. */
async function resolvePacked(packed: Packed, blobs: Pick<BlobStore, 'get'>, place: PayloadOwner, field: string): Promise<Packed> {
  if (typeof packed.bytes === 'string') return packed;
  const bytes = await fetchBlob(blobs, packed.bytes.blob, place, field);
  return { ...packed, bytes: Buffer.from(bytes).toString('base64') };
}

/** Reads one payload. @throws DatasetError `blob` that says what it belongs to and what to do. */
async function fetchBlob(blobs: Pick<BlobStore, 'get'>, sha256: string, place: PayloadOwner, field: string): Promise<Uint8Array> {
  try {
    return await blobs.get(sha256);
  } catch (cause) {
    throw new DatasetError(
      'blob',
      `${place}: ${field} lies in the blob store as ${sha256} and cannot be read: ${reasonOf(cause)}; restore the blob folder, or leave this trajectory out by a filter`,
      { cause },
    );
  }
}
