import { basename, dirname, extname, join } from 'node:path';
import type { Envelope } from '../../../events/envelope.ts';
import type { Trx } from '../../../postgres/database.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import { readTreeSizes } from '../../../projections/step-tree/read-steps.ts';
import {
  countSelection,
  findSelectionGaps,
  readLeafDepths,
  type SelectionCounts,
} from '../../../projections/trajectories/count-selection.ts';
import { countUnclear, type SelectedTree } from '../../../projections/trajectories/select-trajectories.ts';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import { DatasetError } from '../dataset-error.ts';
import type { SnapshotPosition } from './snapshot.ts';
import type { Lost } from './without-context.ts';

/**
 * What a dataset file is and where it comes from. It holds no clock and no machine: the same export of the same record yields the
 * same bytes, manifest included.
 */
export interface Manifest {
  readonly schema: 'espalier-manifest/1';
  readonly format: { readonly kind: string };
  readonly formatVersion: number;
  readonly query: TrajectoryQuery;
  readonly codeVersion: string;
  /** The position of each projection in the snapshot that was exported. */
  readonly position: SnapshotPosition;
  readonly counts: ExportCounts;
  readonly bytes: number;
  readonly sha256: string;
}

/** Trajectories without a row, their steps, and the trees of which none has one. */
export interface LeftOut {
  readonly trajectories: number;
  readonly trees: number;
  readonly steps: number;
}

export interface ExportCounts {
  /** Trajectories that match the query; `withoutStep` of them have no reply to train on and are not in a chat format's file. */
  readonly trajectories: number;
  readonly withoutStep: number;
  readonly trees: number;
  /** Steps as written: one that n trajectories share counts n times, except in `jsonl`, where each step is one event. */
  readonly steps: number;
  /** Sampled tokens of those steps, where the engine gave them. */
  readonly tokens: number;
  readonly lines: number;
  /** Rollouts that failed or were cancelled and that no filter asks for, where there are any: no row is made of them. */
  readonly unfinished?: number;
  /** Trajectories whose captured calls are unclear or could not be read whole, where there are any and the query keeps them. */
  readonly unclear?: number;
  /** Rollouts that nobody rewarded, where there are any: a format for training on rewards has no row of them. */
  readonly unrewarded?: LeftOut;
  /** Trained replies that were left out, where the format has no place for them. */
  readonly lost?: Lost;
  /** Rows of token ids that hold ids which a tokenizer made of texts, where there are any. */
  readonly retokenised?: number;
  /** Pictures in the folder next to the file, where there are any. */
  readonly pictures?: number;
  /** Pictures with characters that the published renderer may draw otherwise, where there are any. */
  readonly unshapedPictures?: number;
  /**
   * `jsonl`, where there are any: events of the runs and trees that are not in the file, as they took no effect: they wait in
   * quarantine, refer to what does, or repeat.
   */
  readonly leftOut?: number;
}

/**
 * Names the manifest of a dataset file: `_manifests/data.manifest-jsonl` of `data.jsonl`. A reader of folders (`load_dataset`)
 * takes every file for data whose name holds the ending of data anywhere, so this one holds none, and yet names its file alone.
 */
export function manifestPath(out: string): string {
  const ending = extname(out);
  return join(dirname(out), MANIFESTS, `${basename(out, ending)}.manifest${ending.replace('.', '-')}`);
}

/** Returns the file that a manifest is of; null for a name that is none of a manifest. */
export function fileOfManifest(path: string): string | null {
  const [, name, ending] = /^(.*)\.manifest(-[^.]*)?$/.exec(basename(path)) ?? [];
  if (name === undefined || basename(dirname(path)) !== MANIFESTS) return null;
  return join(dirname(dirname(path)), `${name}${ending?.replace('-', '.') ?? ''}`);
}

const MANIFESTS = '_manifests';

/** Writes a manifest as the text of its file. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

const COMPARE = 'compare the read models with the log (espalier replay projections), see what waits (espalier quarantine list)';

/** Counts a query. @throws DatasetError `incomplete` where the read models lack something of it. */
export async function countWhole(trx: Trx, query: TrajectoryQuery): Promise<SelectionCounts> {
  const gaps = await findSelectionGaps(trx, query);
  if (gaps.length === 0) return countSelection(trx, query);
  const lacking = gaps.map(({ what, missing, first }) => `${missing} ${what} (the first: ${first})`).join(', ');
  throw new DatasetError(
    'incomplete',
    `the read models lack ${lacking}; ${COMPARE}, then export again, or choose other runs (--run)`,
  );
}

/**
 * Leaves out what failed or was cancelled, where no filter says otherwise: it is no example of a policy, and the planner of
 * trainings rejects it. Files of events, and of the tasks to sample from, hold everything.
 */
export function withOutcomes(query: TrajectoryQuery, { kind }: Manifest['format']): TrajectoryQuery {
  return query.outcomes !== null || kind === 'jsonl' || kind === 'verl-prompts'
    ? query
    : { ...query, outcomes: ['terminated', 'truncated'] };
}

/** Counts what `withOutcomes` left out of a query; empty where it left out nothing. */
export async function countUnfinished(
  trx: Trx,
  query: TrajectoryQuery,
  counts: SelectionCounts,
): Promise<Pick<ExportCounts, 'unfinished'>> {
  if (query.outcomes !== null) return {};
  const unfinished = (await countSelection(trx, query)).trajectories - counts.trajectories;
  return unfinished === 0 ? {} : { unfinished };
}

/**
 * Counts the trajectories of a query whose captured calls are unclear or could not be read whole. @throws DatasetError `unclear`
 * where no filter says what becomes of them, and rows are made of paths.
 */
export async function checkUnclear(
  trx: Trx,
  query: TrajectoryQuery,
  { kind }: { readonly kind: string },
): Promise<Pick<ExportCounts, 'unclear'>> {
  if (kind === 'jsonl' || kind === 'verl-prompts') return {};
  const { count, first } = await countUnclear(trx, query);
  if (count === 0) return {};
  if (query.unclear === 'keep') return { unclear: count };
  throw new DatasetError(
    'unclear',
    `${count} trajectories have captured calls next to their path that may belong to it, or of which parts could not be read (the first: rollout ${first}), so that a row of the path may leave out what was shown or done; leave them out by --unclear drop, or take their paths as they are by --unclear keep`,
  );
}

/** @throws DatasetError `nothing-matches` where nobody rewarded any of the trajectories, and the format is for training on rewards. */
export function refuseUnrewarded({ trajectories, unrewarded }: ExportCounts, { kind }: Manifest['format']): void {
  if (unrewarded === undefined || trajectories > 0) return;
  throw new DatasetError(
    'nothing-matches',
    `none of the ${unrewarded.trajectories} trajectories that match has a reward on record, which ${kind} is for; reward them first (espalier score, or reward= of the Python client), or export a format of texts`,
  );
}

/** Compares what was written with what the read models count. @throws DatasetError `incomplete` with the difference. */
export function refuseDifference(counted: Partial<SelectionCounts>, counts: ExportCounts): void {
  for (const what of ['trajectories', 'trees', 'steps'] as const) {
    const selected = counted[what];
    const found = counts[what] + (counts.unrewarded?.[what] ?? 0);
    if (selected !== undefined && selected !== found)
      throw new DatasetError(
        'incomplete',
        `${selected} ${what} match, and the record yields ${found} of them; ${COMPARE}, then export again`,
      );
  }
}

/** Checks that events hold what the read models count of some trees. */
interface EventCheck {
  /** @throws DatasetError `incomplete` that names the rollout or the tree, and the difference. */
  refuseLoss(tree: SelectedTree, events: readonly Envelope[]): void;
}

/**
 * Reads what the events of trees have to yield: for each chosen rollout that ends in them a path as long as its leaf is deep (the
 * others are missed by the count of trajectories), and where whole trees are written as many steps as each of them has.
 */
export async function checkEvents(
  trx: Trx,
  trees: readonly SelectedTree[],
  scope: 'trajectories' | 'trees',
): Promise<EventCheck> {
  const rollouts = trees.flatMap((tree) => tree.rollouts.map(({ treeId, rolloutId: id }) => ({ treeId, id })));
  const leaves = new Map((await readLeafDepths(trx, rollouts)).map((leaf) => [keyInTree(leaf.treeId, leaf.rolloutId), leaf]));
  const ids = trees.map(({ treeId }) => treeId);
  const sizes = scope === 'trees' ? await readTreeSizes(trx, ids) : [];
  const stepsOf = new Map(sizes.map(({ treeId, steps }) => [treeId, steps - 1])); // the root is no step that was taken
  return {
    refuseLoss({ treeId, rollouts: chosen }, events) {
      const parents = new Map<string, string>();
      for (const event of events) if (event.type === 'StepTaken') parents.set(event.data.stepId, event.data.parentStepId);
      const expected = stepsOf.get(treeId);
      if (expected !== undefined && expected !== parents.size) throw lost(`tree ${treeId}`, expected, parents.size);
      const ended = new Set(events.flatMap((event) => (event.type === 'RolloutFinished' ? event.data.rolloutId : [])));
      for (const { rolloutId } of chosen.filter((rollout) => ended.has(rollout.rolloutId))) {
        const { leafStepId = '', depth = 0 } = leaves.get(keyInTree(treeId, rolloutId)) ?? {};
        let length = 0;
        for (let at = parents.get(leafStepId); at !== undefined && length <= depth; at = parents.get(at)) length++;
        if (length !== depth) throw lost(`rollout ${rolloutId} of tree ${treeId}`, depth, length);
      }
    },
  };
}

function lost(what: string, counted: number, found: number): DatasetError {
  return new DatasetError(
    'incomplete',
    `${what} has ${counted} steps, and the events of the journal yield ${found} of them; ${COMPARE}, then export again`,
  );
}
