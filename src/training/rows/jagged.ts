import type { BatchStep, BatchTokens, BatchTrajectory, PolicySpan } from './batch-rows.ts';
import type { Tensor } from './safetensors.ts';

/** Tokens of a row, with the versions that sampled them. */
export interface TokenRun extends BatchTokens {
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
