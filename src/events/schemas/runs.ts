import { z } from 'zod';
import { count, counter, finite, id, json, name, policyRef, sha256 } from './values.ts';

export const experimentDeclared = z.strictObject({
  experimentId: id,
  name,
  question: z.string().max(10_000),
});

/**
 * `config` is everything that determines the run beside its seed; `codeVersion` names the program that wrote it. `policyDigest` is the SHA-256 of the
 * file that the policy was read from, which `config` names by its path: absent for other policies, and in records older than the field.
 */
export const runStarted = z.strictObject({
  runId: id,
  experimentId: id.nullable(),
  name,
  kind: z.enum(['collect', 'search', 'import', 'evaluate', 'fork', 'external']),
  seed: z.int(),
  codeVersion: name,
  config: json,
  environments: z.array(z.strictObject({ environment: name, fingerprint: name })).max(100),
  policy: policyRef.nullable(),
  policyDigest: sha256.optional(),
});

export const runFinished = z.strictObject({
  runId: id,
  outcome: z.enum(['completed', 'failed', 'cancelled']),
  message: z.string().max(10_000),
  trees: count,
  rollouts: count,
  steps: count,
});

export const metricRecorded = z.strictObject({ runId: id, metric: name, value: finite, at: counter.nullable() });
