/** What the end of a rollout and its tree say of its path. */
export interface RecordedWalk {
  readonly rolloutId: string;
  /** How many steps its end says it took. */
  readonly taken: number;
  readonly rootStepId: string;
  readonly fromStepId: string;
}

/** An array of a step as it was recorded: `bytes` are those that are there. */
export interface RecordedArray {
  readonly dtype: string;
  readonly length: number;
  readonly bytes: number;
}

export interface RecordedArrays {
  readonly ids: RecordedArray;
  readonly logProbs: RecordedArray | null;
  readonly mask: RecordedArray | null;
}

/**
 * Finds what contradicts itself in the path of a rollout, from the root to its leaf by the parents of its steps. The reader of
 * rows refuses such a rollout, and so the planner never plans one: both ask here. Null where nothing is wrong.
 */
export function findWalkFault(
  { rolloutId, taken, rootStepId, fromStepId }: RecordedWalk,
  path: readonly string[],
): string | null {
  if (path[0] !== rootStepId) return `the path of rollout ${rolloutId} does not reach the root of its tree`;
  const from = path.indexOf(fromStepId);
  if (from < 0) return `the path of rollout ${rolloutId} does not hold the step ${fromStepId} that it began at`;
  const held = path.length - 1 - from;
  return held === taken ? null : `rollout ${rolloutId} took ${taken} steps by its end, and its path holds ${held} of them`;
}

/**
 * Finds token arrays of a step that do not fit each other or their own length; null where all do. Both the reader and the planner
 * ask here.
 */
export function findTokensFault(stepId: string, { ids, logProbs, mask }: RecordedArrays): string | null {
  return (
    findArrayFault(stepId, ids, 'int32', ids.length) ??
    (logProbs && findArrayFault(stepId, logProbs, 'float32', ids.length)) ??
    (mask && findArrayFault(stepId, mask, 'uint8', ids.length))
  );
}

/** Finds what is wrong with one array of a step, of which `due` elements of a type are expected. */
export function findArrayFault(
  stepId: string,
  { dtype, length, bytes }: RecordedArray,
  wanted: 'int32' | 'float32' | 'uint8',
  due: number,
): string | null {
  if (dtype === wanted && length === due && bytes === due * (wanted === 'uint8' ? 1 : 4)) return null;
  return `step ${stepId}: ${length} ${dtype} in ${bytes} bytes where ${due} ${wanted} are due; the producer recorded arrays that do not fit each other`;
}
