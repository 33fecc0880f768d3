import { pictureIds, type ShownRow, type ShownStep, shownRows } from '../../../domain/dataset/shown-rows.ts';
import type { AskedMessage } from '../../../domain/prompts/asked-prompt.ts';
import type { OfTree } from '../../../projections/of-tree.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { PictureFolder } from './picture-folder.ts';
import type { Pictures, ShownPicture } from './pictures.ts';
import { partOf, type RowOrigin, rowMetadata } from './row-metadata.ts';
import { refuseUnsaid, shownSteps } from './shown-steps.ts';

/** What writers of examples take pictures from, and where they put them. */
export interface PictureShelf {
  readonly pictures: Pictures;
  readonly folder: Pick<PictureFolder, 'keep'>;
}

/** A row of a trajectory, and what its metadata say of it. */
export interface ShownExample<Metadata extends object = object> {
  readonly row: ShownRow;
  /** The steps of the row. */
  readonly steps: readonly OfTree[];
  readonly metadata: Metadata;
}

/**
 * Lays a trajectory out as examples: one where each prompt continues the one before, else one for each part that does.
 * @param says whether the form has a place for the metadata. @throws DatasetError `missing-prompt`.
 */
export function shownExamples(
  trajectory: ExportTrajectory,
  { from, weights, says }: { readonly from: number; readonly weights: readonly (0 | 1)[]; readonly says: boolean },
): readonly ShownExample[] {
  const { head, root, firstPictures = [], steps, rollout, config } = trajectory;
  const path = { instruction: head.instruction, firstObservation: root.observation, firstPictures, steps };
  const shown: readonly ShownStep[] = shownSteps(path, weights).slice(from);
  const rows = shownRows(shown);
  const origin = originOf(trajectory);
  return rows.map((row, index) => {
    refuseUnsaid(row.source, config, `trajectory ${rollout.rolloutId} of run ${head.runId}`, says);
    return {
      row,
      steps: steps.slice(from + row.from, from + row.to).map(({ stepId: id }) => ({ treeId: head.treeId, id })),
      metadata: rowMetadata(origin, { prompt: row.source, part: partOf(row, index, rows.length, from) }),
    };
  });
}

/** Describes where an example comes from. */
export function originOf({ head, rollout, returnValue, rewards, steps, root, annotations }: ExportTrajectory): RowOrigin {
  const byComponent = Object.entries(rewards).map(([component, value]) => [`reward.${component}`, value] as const);
  return {
    kind: 'trajectory',
    trajectory: rollout.rolloutId,
    leaf: steps.at(-1)?.stepId ?? root.stepId,
    rejected: null,
    rejectedLeaf: null,
    tree: head.treeId,
    run: head.runId,
    task: { id: head.taskId, alias: head.alias, goal: head.goal, depth: head.taskDepth, split: head.split },
    environment: { name: head.environment, fingerprint: head.serverFingerprint },
    policy: { id: rollout.policyId, version: rollout.policyVersion },
    ordinal: rollout.ordinal,
    outcome: rollout.outcome ?? '',
    success: rollout.success,
    steps: steps.length,
    revision: null,
    state: null,
    judge: null,
    judgements: [],
    annotations,
    rejectedAnnotations: [],
    scores: { ...(byComponent.length > 0 ? { return: returnValue } : {}), ...Object.fromEntries(byComponent) },
  };
}

/** Draws the pictures of messages, in order. */
export function picturesIn(
  messages: readonly AskedMessage[],
  steps: readonly OfTree[],
  { pictures }: PictureShelf,
): Promise<readonly ShownPicture[]> {
  return pictures.of(pictureIds(messages), steps);
}

/** Keeps pictures in the folder next to the file: the column `images`, where the file has one. */
export async function imagesColumn(
  drawn: readonly ShownPicture[],
  { pictures, folder }: PictureShelf,
): Promise<{ readonly images?: readonly string[] }> {
  if (!pictures.any) return {};
  const images: string[] = [];
  for (const picture of drawn) images.push(await folder.keep(picture));
  return { images };
}
