import type { Db } from '../../postgres/database.ts';

/** A step as a run that is gone on with needs it: what was said and done, and what may be done next. */
export interface RecordedStep {
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly rolloutId: string | null;
  readonly depth: number;
  readonly response: string;
  readonly action: string;
  readonly observation: string;
  readonly termination: 'none' | 'terminated' | 'truncated';
  readonly admissibleActions: readonly string[] | null;
  /** Null where the environment does not show its state. */
  readonly stateHash: string | null;
  /** Version of the policy that drew the first token of the response. */
  readonly policyVersion: number;
}

/**
 * Reads the steps of a tree by their ids, in the order in which they were taken, texts in the blob store in their place.
 * @param resolve reads a text of the blob store.
 */
export async function readRecordedSteps(
  db: Db,
  treeId: string,
  resolve: (sha256: string) => Promise<string>,
): Promise<ReadonlyMap<string, RecordedStep>> {
  const rows = await db
    .selectFrom('steps')
    .select(['stepId', 'parentStepId', 'rolloutId', 'depth', 'response', 'action', 'observation', 'termination'])
    .select(['admissible', 'blobs', 'policySpans', 'stateHash'])
    .where('treeId', '=', treeId)
    .orderBy('logOffset')
    .execute();
  const steps = new Map<string, RecordedStep>();
  for (const row of rows) {
    const text = async (field: 'response' | 'action' | 'observation') => {
      const reference = row.blobs?.[field];
      return reference ? resolve(reference.blob) : row[field];
    };
    steps.set(row.stepId, {
      stepId: row.stepId,
      parentStepId: row.parentStepId,
      rolloutId: row.rolloutId,
      depth: row.depth,
      response: await text('response'),
      action: await text('action'),
      observation: await text('observation'),
      termination: row.termination,
      admissibleActions: row.admissible,
      stateHash: row.stateHash,
      policyVersion: row.policySpans[0]?.version ?? 0,
    });
  }
  return steps;
}
