import type { Sampling } from '../../prompts/policy-prompt.ts';
import type { PlanRules } from './plan-rules.ts';

/**
 * Why a rollout cannot be trained on, as its record says. `incomplete-record`: parts of it are missing or contradict each other.
 * `other-distribution`: its tokens were drawn from another distribution than losses compute log-probabilities of.
 * `unclear-calls`: captured calls next to its path may belong to it, so that the path may never have happened.
 */
export interface RecordFault extends Rejection {
  readonly reason: 'incomplete-record' | 'other-distribution' | 'unclear-calls';
}

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

/** What the end of a rollout says of its captured calls; null for one that is not captured. */
export interface CapturedWalk {
  readonly unclearCalls: number | null;
  readonly lostParts: number | null;
}

/**
 * Finds the calls next to the path of a rollout that may belong to it, or else the parts of its calls that could not be read. Null
 * where there are none, or the declaration keeps it.
 */
export function findCaptureFault(
  { unclearCalls, lostParts }: CapturedWalk,
  { unclear }: Pick<PlanRules, 'unclear'>,
): RecordFault | null {
  if (unclear === 'keep' || (!unclearCalls && !lostParts)) return null;
  const remedy = 'declare another policy with the rule unclear: keep to train on it all the same';
  if (unclearCalls)
    return {
      reason: 'unclear-calls',
      rule: `${unclearCalls} calls next to its path may belong to it; ${remedy}`,
      measured: unclearCalls,
    };
  const rule = `${lostParts} parts of its captured calls could not be read; ${remedy}`;
  return { reason: 'incomplete-record', rule, measured: lostParts };
}

/**
 * Finds what of a recorded sampling is not what losses assume: the whole distribution of the model, at a temperature above 0.
 * What was left to the server is unknown, and a fault unless the declaration keeps it: the server may have taken it from the
 * model's folder. @param temperature that of the request, else of the run; null where neither says one.
 */
export function findSamplingFault(
  stepId: string,
  { topP, topK, minP, repetitionPenalty, others }: Omit<Sampling, 'temperature' | 'maxTokens' | 'stop' | 'seed'>,
  temperature: number | null,
  { unknownSampling }: Pick<PlanRules, 'unknownSampling'>,
): RecordFault | null {
  const fault = (rule: string, measured: number | null): RecordFault => ({ reason: 'other-distribution', rule, measured });
  if (temperature !== null && !(temperature > 0)) return fault(`step ${stepId} was not sampled but taken greedily`, temperature);
  const cut = [
    { name: 'top_p', value: topP, whole: topP === 1 },
    { name: 'top_k', value: topK, whole: topK === -1 || topK === 0 },
    { name: 'min_p', value: minP, whole: minP === 0 },
    { name: 'repetition_penalty', value: repetitionPenalty, whole: repetitionPenalty === 1 },
  ].find(({ value, whole }) => value !== null && !whole);
  if (others.length > 0) {
    const names = others.map(({ name }) => name).join(', ');
    return { reason: 'other-distribution', rule: `step ${stepId} was sampled with ${names}, ${COLLECT_WITHOUT}`, measured: null };
  }
  if (cut && cut.value !== null)
    return fault(`step ${stepId} was sampled with ${cut.name} ${cut.value}, ${COLLECT_WITHOUT}`, cut.value);
  const settings = { temperature, top_p: topP, top_k: topK, min_p: minP, repetition_penalty: repetitionPenalty };
  const unknown = Object.entries(settings).flatMap(([name, value]) => (value === null ? [name] : []));
  if (unknown.length === 0 || unknownSampling === 'keep') return null;
  const remedy =
    'record them with the prompt, or declare another policy with the rule unknownSampling: keep to train on it all the same';
  return fault(`the record does not say with which ${unknown.join(', ')} step ${stepId} was sampled; ${remedy}`, null);
}

const COLLECT_WITHOUT = 'and losses compute with the whole distribution; collect without it';

/** What rounding in float32 may leave above 0. */
const ROUNDING = 1e-5;

/** The token arrays of a step as they lie in the record; typed arrays and plain ones. */
export interface TokenValues {
  readonly ids: ArrayLike<number>;
  readonly mask: ArrayLike<number> | null;
  readonly logProbs: ArrayLike<number> | null;
}

/**
 * Finds token values that no trainer can use: ids below 0, log-probabilities of sampled tokens that are not finite or above 0
 * (specification of Agent-R1, §3.4). Null where there are none. What was shown has no log-probability that counts.
 */
export function findTokenValueFault(where: string, { ids, mask, logProbs }: TokenValues): string | null {
  for (let t = 0; t < ids.length; t++) {
    const id = ids[t] ?? 0;
    if (id < 0) return `${where}: token ${t} has the id ${id}; ids of a vocabulary begin at 0`;
  }
  return findLogProbFault(where, logProbs, ids.length, mask);
}

/** Whether a number is a log-probability that can be computed with. */
export function isLogProb(value: number): boolean {
  return value <= ROUNDING && value > Number.NEGATIVE_INFINITY;
}

/** Finds what is wrong with the log-probabilities of sampled tokens; null where nothing is, or none are recorded. */
export function findLogProbFault(
  where: string,
  logProbs: ArrayLike<number> | null,
  tokens: number,
  mask: ArrayLike<number> | null = null,
): string | null {
  if (logProbs === null) return null;
  if (logProbs.length !== tokens)
    return `${where} has ${logProbs.length} log-probabilities for ${tokens} token ids; the producer recorded arrays that do not fit each other`;
  for (let t = 0; t < tokens; t++) {
    const value = logProbs[t] ?? Number.NaN;
    if ((mask === null || mask[t] === 1) && !isLogProb(value))
      return `${where}: token ${t} has the log-probability ${value}, which is no finite number of at most 0; the server or the producer recorded it so`;
  }
  return null;
}

/** Why a sample is never trained, by which rule, and what the rule measured. */
export interface Rejection {
  readonly reason:
    | 'zero-variance'
    | 'stale'
    | 'too-long'
    | 'failed'
    | 'cancelled'
    | 'empty'
    | 'singleton'
    | 'unscored'
    | 'incomplete-record'
    | 'other-distribution'
    | 'unclear-calls'
    | 'foreign-policy'
    | 'incomplete-group'
    | 'filtered'
    | 'not-needed';
  readonly rule: string;
  readonly measured: number | null;
}

export interface RejectedSample extends Rejection {
  readonly treeId: string;
  readonly rolloutId: string;
}
