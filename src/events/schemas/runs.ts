import { z } from 'zod';
import {
  codeVersion,
  count,
  counter,
  environment,
  epoch,
  eventData,
  experimentId,
  fingerprint,
  finite,
  id,
  json,
  name,
  policyRef,
  runId,
  sha256,
} from './values.ts';

export const experimentDeclared = eventData('An experiment was declared: a question that runs are to answer.', {
  experimentId,
  name: name.describe('Name of the experiment.'),
  question: z.string().max(10_000).describe('Question that the experiment asks.'),
});

export const runStarted = eventData('A run started: one execution of a configuration with a seed.', {
  runId,
  experimentId: id.nullable().describe('UUID of the experiment that the run belongs to; null when it belongs to none.'),
  name: name.describe('Name of the run.'),
  kind: z
    .enum(['collect', 'search', 'import', 'evaluate', 'fork', 'external'])
    .describe('What the run does; `external` is a run of another program, `fork` continues recorded steps of another run.'),
  seed: z.int().describe('Seed from which all other seeds of the run are derived.'),
  codeVersion,
  config: json.describe('Configuration of the run: everything but the seed that determines it, as free-form JSON.'),
  environments: z.array(z.strictObject({ environment, fingerprint })).max(100).describe('Environments that the run acts in.'),
  policy: policyRef.nullable().describe('Policy that the run starts with; null when it has none.'),
  policyDigest: sha256
    .optional()
    .describe('SHA-256 of the file that the policy was read from; absent for other policies and in older records.'),
});

export const runResumed = eventData(
  'A collector took over a run: what an earlier one appends to the stream of the run behind this event has no effect.',
  {
    runId,
    epoch: epoch.describe('Epoch of the collector that goes on with the run, above those of all before it.'),
    codeVersion,
  },
);

export const runFinished = eventData('A run finished: its outcome and its totals.', {
  runId,
  outcome: z.enum(['completed', 'failed', 'cancelled']).describe('How the run ended.'),
  message: z.string().max(10_000).describe('Reason for the outcome, or a summary of what failed; empty when nothing did.'),
  trees: count.describe('Number of trees in the run.'),
  rollouts: count.describe('Number of rollouts in the run.'),
  steps: count.describe('Number of actions taken in the run.'),
});

/** Written when nothing of it can be read any more: a forgetting that was ended in between is continued, and then recorded. */
export const payloadForgotten = eventData('Payload of a run was forgotten: its keys are destroyed, and no read model holds it.', {
  runId,
  trees: z.array(id).max(5_000).describe('UUIDs of the trees of the run whose payload was forgotten.'),
  keys: z.array(id).max(5_000).describe('UUIDs of the keys that were destroyed, those of shared history segments included.'),
  blobs: count.describe('Number of blobs that were deleted with the payload.'),
  by: name.describe('Who asked for it: the name of a person or a program.'),
  reason: z.string().min(1).max(2_000).describe('Reason that was given.'),
});

export const metricRecorded = eventData('A metric of a run was measured.', {
  runId,
  metric: name.describe('Name of the metric.'),
  value: finite.describe('Value of the metric.'),
  at: counter.nullable().describe('Step, update, iteration or simulation of the value; null when it belongs to the whole run.'),
});
