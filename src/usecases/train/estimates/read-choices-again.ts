import type { Db } from '../../../postgres/database.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import { CheckpointDamaged } from '../../../training/backends/backend.ts';
import { type Choice, choiceAt, type Decision, decisionsOf, featureCache } from '../../../training/backends/linear/decisions.ts';
import { linearBackend } from '../../../training/backends/linear/linear-backend.ts';
import { decodeCheckpoint } from '../../../training/backends/linear/linear-checkpoint.ts';
import { stepRowsOf } from '../../../training/backends/step-row.ts';
import { readCheckpoint } from '../../../training/checkpoints/checkpoint-store.ts';
import type { Head } from '../../../training/leases/protocol.ts';
import { ownSteps } from '../../../training/rows/jagged.ts';
import { readCurrentRows } from '../../../training/rows/read-batch-rows.ts';
import type { BlobReader } from '../../../training/rows/read-blob.ts';
import { readBatchUpdate } from '../../../training/versions/read-batch-update.ts';

/** The probability of what a step sampled, by a version. */
export type Reading = Pick<Choice, 'logProb' | 'entropy'>;

/** The same by the version that was trained on the step and by the one that resulted; null where its weights are not here. */
export interface ReadAgain {
  readonly before: Reading | null;
  readonly after: Reading | null;
}

/**
 * Reads the steps of some groups of a batch again by the weights before its update and after it, by `keyInTree`. Empty for other
 * policies than linear ones: those are read by the model that their trainer has.
 */
export async function readChoicesAgain(
  db: Db,
  blobs: BlobReader,
  batchId: string,
  trees: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ReadAgain>> {
  const update = await readBatchUpdate(db, batchId);
  if (update?.backend !== 'linear') return new Map();
  const [before, after] = [await weightsOf(blobs, update.base), await weightsOf(blobs, update.made)];
  const { rows } = await readCurrentRows(db, blobs, batchId, new Map(), { trees });
  const stepRows = stepRowsOf(rows);
  const steps = rows.trajectories.flatMap(ownSteps); // in their order
  const keyOf = new Map(stepRows.map((row, i) => [row, keyInTree(row.groupId, steps[i]?.stepId ?? '')]));
  const { decisions } = decisionsOf(stepRows);
  const featuresOf = featureCache();
  const reading = (weights: Float64Array | null, decision: Decision): Reading | null => {
    if (weights === null) return null;
    const { logProb, entropy } = choiceAt(weights, featuresOf(decision), decision);
    return { logProb, entropy };
  };
  return new Map(
    decisions.map((each) => [keyOf.get(each.row) ?? '', { before: reading(before, each), after: reading(after, each) }]),
  );
}

async function weightsOf(blobs: BlobReader, head: Head | null): Promise<Float64Array | null> {
  if (head === null) return null;
  try {
    return decodeCheckpoint(await readCheckpoint(blobs, linearBackend(), head)).policy.values;
  } catch (error) {
    if (error instanceof CheckpointDamaged) return null;
    throw error;
  }
}
