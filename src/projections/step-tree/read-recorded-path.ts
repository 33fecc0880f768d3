import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactSum } from '../../postgres/exact-sum.ts';
import { keyInTree, type OfTree } from '../of-tree.ts';
import { readPictureIds } from '../pictures/read-pictures.ts';
import { readPaths } from './read-paths.ts';

/**
 * A step of a path with all that doing it again is compared with. The root has no action: its observation is the task's first.
 */
export interface PathStep {
  readonly stepId: string;
  readonly depth: number;
  readonly response: string;
  readonly thought: string;
  /** As it was executed. */
  readonly action: string;
  readonly observation: string;
  /** Pictures of the observation, by their ids. */
  readonly pictures: readonly { readonly imageId: string }[];
  readonly wellFormatted: boolean;
  readonly termination: 'none' | 'terminated' | 'truncated';
  readonly stateHash: string | null;
  /** Who took it; null for the root. */
  readonly policy: { readonly policyId: string; readonly version: number } | null;
  /** What the environment gave, as it was first assigned, summed: 0 where nothing was. */
  readonly reward: number;
}

/**
 * Reads the path from the root of a tree to a step of it, root first, texts in the blob store in their place; empty for an
 * unknown step.
 * @param resolve reads a text of the blob store.
 */
export async function readRecordedPath(
  db: Db,
  { treeId, id: stepId }: OfTree,
  resolve: (sha256: string) => Promise<string>,
): Promise<readonly PathStep[]> {
  const ids = (await readPaths(db, [{ treeId, id: stepId }])).get(keyInTree(treeId, stepId)) ?? [];
  if (ids.length === 0) return [];
  const records = await db
    .selectFrom('steps')
    .select(['stepId', 'depth', 'response', 'thought', 'action', 'observation', 'wellFormatted', 'termination', 'stateHash'])
    .select(['policySpans', 'blobs'])
    .where('treeId', '=', treeId)
    .where('stepId', 'in', [...ids])
    .execute();
  const rewards = await db
    .selectFrom('rewards')
    .select(['stepId', exactSum(sql.ref('assignedValue')).as('value')])
    .where('treeId', '=', treeId)
    .where('stepId', 'in', [...ids])
    .where('component', '=', 'environment')
    .groupBy('stepId')
    .execute();
  const pictures = await readPictureIds(
    db,
    ids.map((id) => ({ treeId, id })),
  );
  const earned = new Map(rewards.map(({ stepId, value }) => [stepId, value]));
  const steps = new Map(records.map((record) => [record.stepId, record]));
  return Promise.all(
    ids.map(async (id): Promise<PathStep> => {
      const step = steps.get(id);
      if (!step) throw new RangeError(`step ${id} lies on the path to ${stepId} and is not in the read models`);
      const text = async (field: 'response' | 'thought' | 'action' | 'observation') => {
        const reference = step.blobs?.[field];
        return reference ? resolve(reference.blob) : step[field];
      };
      const [span] = step.policySpans;
      return {
        stepId: id,
        depth: step.depth,
        response: await text('response'),
        thought: await text('thought'),
        action: await text('action'),
        observation: await text('observation'),
        wellFormatted: step.wellFormatted,
        termination: step.termination,
        stateHash: step.stateHash,
        reward: earned.get(id) ?? 0,
        pictures: pictures.get(keyInTree(treeId, id)) ?? [],
        policy: span ? { policyId: span.policyId, version: span.version } : null,
      };
    }),
  );
}
