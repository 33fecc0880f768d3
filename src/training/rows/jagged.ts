import {
  type BatchReward,
  type BatchRows,
  type BatchStep,
  type BatchTokens,
  type BatchTrajectory,
  type PolicySpan,
  RowsError,
} from './batch-rows.ts';
import { readSafetensors, type Tensor, writeSafetensors } from './safetensors.ts';

/** Tokens of a row, with the versions that sampled them. */
interface TokenRun extends BatchTokens {
  readonly spans: readonly PolicySpan[];
}

/**
 * Lays the token columns of a body out: rows of any length, one after the other. A row without recorded tokens has the length 0.
 * @param policyId whose versions are meant: tokens of another policy, and those that nobody sampled, have the version −1.
 */
export function jaggedTokens(rows: readonly (TokenRun | null)[], policyId: string): readonly Tensor[] {
  const borders = bordersOf(rows.map((row) => row?.ids.length ?? 0));
  const tokens = borders.at(-1) ?? 0;
  const ids = new Int32Array(tokens);
  const mask = new Uint8Array(tokens);
  const logProbs = new Float32Array(tokens);
  const versions = new Int32Array(tokens).fill(-1);
  for (const [i, row] of rows.entries()) {
    if (row === null) continue;
    const at = borders[i] ?? 0;
    ids.set(row.ids, at);
    mask.set(row.mask, at);
    if (row.logProbs) logProbs.set(row.logProbs, at);
    for (const span of row.spans)
      if (span.policyId === policyId) versions.fill(span.version, at + span.from, at + Math.min(span.to, row.ids.length));
  }
  const all = [tokens];
  return [
    { name: 'cu_seqlens', shape: [borders.length], data: borders },
    { name: 'responses', shape: all, data: ids },
    { name: 'response_mask', shape: all, data: mask },
    { name: 'rollout_log_probs', shape: all, data: logProbs },
    { name: 'policy_versions', shape: all, data: versions },
    { name: 'has_log_probs', shape: [rows.length], data: Uint8Array.from(rows, (row) => Number(row?.logProbs != null)) },
  ];
}

/** Where rows of these lengths begin when one follows the other, and where the last ends. */
export function bordersOf(lengths: readonly number[]): Int32Array {
  const borders = new Int32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) borders[i + 1] = (borders[i] ?? 0) + length;
  return borders;
}

/** The steps that the rollout took itself. */
export function ownSteps({ steps, from }: BatchTrajectory): readonly BatchStep[] {
  return from === 0 ? steps : steps.slice(from);
}

export const LOG_PROBS_MEDIA = 'application/x-safetensors';

/** The log-prob of every sampled token of a batch, sample after sample as its manifest has them, step after step. */
export interface LogProbs {
  readonly values: Float32Array;
  /** Where each sample begins, and where the last ends. */
  readonly borders: Int32Array;
}

/** Writes log-probs as safetensors: `log_probs`, and `cu_seqlens` with the borders of the samples. */
export function encodeLogProbs(values: Float32Array, lengths: readonly number[]): Uint8Array {
  const borders = bordersOf(lengths);
  const tensors = [
    { name: 'log_probs', shape: [values.length], data: values },
    { name: 'cu_seqlens', shape: [borders.length], data: borders },
  ];
  return Buffer.concat(writeSafetensors(tensors, {}));
}

/** Reads what `encodeLogProbs` wrote. @throws RowsError `blob` where it is something else. */
export function decodeLogProbs(bytes: Uint8Array, what: string): LogProbs {
  try {
    const { tensors } = readSafetensors(bytes);
    const values = tensors.get('log_probs');
    const borders = tensors.get('cu_seqlens');
    if (values?.dtype === 'F32' && borders?.dtype === 'I32' && borders.data.at(-1) === values.data.length)
      return { values: Float32Array.from(values.data), borders: Int32Array.from(borders.data) };
  } catch (cause) {
    throw new RowsError('blob', `${what} cannot be read; restore the blob folder`, { cause });
  }
  throw new RowsError('blob', `${what} are no log-probs of samples; restore the blob folder`);
}

/** The reward components of a batch by name, in one order; each has a column. */
export function componentsOf({ trajectories }: BatchRows): readonly string[] {
  const names = new Set<string>();
  for (const { rewards, steps } of trajectories) {
    for (const { component } of rewards) names.add(component);
    for (const step of steps) for (const { component } of step.rewards) names.add(component);
  }
  return [...names].sort();
}

/** Lays rewards out as [rows, components], in float64: they are the record's own numbers. 0 where a component says nothing. */
export function rewardTensor(name: string, components: readonly string[], rows: readonly (readonly BatchReward[])[]): Tensor {
  const places = new Map(components.map((component, place) => [component, place]));
  const data = new Float64Array(rows.length * components.length);
  for (const [row, rewards] of rows.entries()) {
    for (const { component, value } of rewards) {
      const place = row * components.length + (places.get(component) ?? 0); // `componentsOf` named every one
      data[place] = (data[place] ?? 0) + value;
    }
  }
  return { name, shape: [rows.length, components.length], data };
}

/** Lays the greedy scores of rows out as `reward_baselines` (ReMax); nothing where the estimator compares with none. */
export function baselineTensor(rows: readonly Pick<BatchTrajectory, 'greedyScore'>[]): readonly Tensor[] {
  const scores = rows.map(({ greedyScore }) => greedyScore);
  if (rows.length === 0 || !scores.every((score) => score !== undefined)) return [];
  return [{ name: 'reward_baselines', shape: [rows.length], data: Float64Array.from(scores) }];
}

/** Sums rewards by their weights, in their order. */
export function totalOf(rewards: readonly BatchReward[]): number {
  return rewards.reduce((sum, { value, weight }) => sum + weight * value, 0);
}
