import { z } from 'zod';
import { trainedOn } from './evaluations.ts';
import {
  blobRef,
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
  remark,
  runId,
  sha256,
} from './values.ts';

export const experimentDeclared = eventData('An experiment was declared: a question that runs are to answer.', {
  experimentId,
  name: name.describe('Name of the experiment.'),
  question: z.string().max(10_000).describe('Question that the experiment asks.'),
  declaration: json
    .optional()
    .describe(
      'Stages, arms and seeds of the experiment, as its file declares them; absent where a program declared a question alone.',
    ),
  rerunOf: id
    .nullable()
    .optional()
    .describe('UUID of the experiment that it repeats with other options; null or absent for none.'),
});

export const stageFinished = eventData('A stage of an experiment ended, in one of its arms and one of its repetitions.', {
  experimentId,
  arm: name.describe('Name of the arm.'),
  stage: name.describe('Name of the stage in the declaration.'),
  kind: name.describe(
    'What the stage does: `collect`, `search`, `revise`, `release`, `train`, `evaluate`, `score`, `fork` or `import`.',
  ),
  seed: z.int().describe('Seed of the repetition.'),
  key: sha256.describe(
    'SHA-256 of what determines the outcome: options, seed, code version, fingerprints, and the digests of what it used.',
  ),
  outcome: z
    .enum(['completed', 'failed'])
    .describe('How the stage ended; a failed one may end again when the experiment is resumed.'),
  message: remark.describe('Reason of a failure; empty when it completed.'),
  reusedFrom: id
    .nullable()
    .describe('UUID of the experiment whose stage of the same key was taken; null when the stage was run.'),
  output: z
    .strictObject({
      digest: sha256.describe('SHA-256 of what came out, without ids and times.'),
      runIds: z.array(id).max(10_000).describe('UUIDs of the runs of the stage.'),
      datasetId: id.nullable().describe('UUID of the dataset that it released; null for none.'),
      policy: z.string().max(10_000).nullable().describe('Policy that it trained, as `--policy` takes it; null for none.'),
      judge: name.nullable().describe('Judge of its revisions, as name@revision; null for none.'),
      kept: blobRef.nullable().describe('Weights, or the list of revisions, that a later stage reads; null for none.'),
      values: z.record(name, finite).describe('Numbers that came out, by name.'),
      trained: trainedOn
        .nullable()
        .optional()
        .describe('Data that its policy was trained on; null or absent when it trained none on a release.'),
    })
    .nullable()
    .describe('What came out; null when the stage failed.'),
});

/** Bytes of a renderer as UTF-8: it stays in the event, whatever its script. */
export const RENDERER_LIMIT = 64 * 1024;

export const renderer = z
  .string()
  .min(1)
  .max(RENDERER_LIMIT)
  .refine((text) => new TextEncoder().encode(text).length <= RENDERER_LIMIT, `must have at most ${RENDERER_LIMIT} bytes as UTF-8`)
  .describe('JavaScript module whose `render` shows steps in the studio; absent when there is none.');

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
  environments: z
    .array(z.strictObject({ environment, fingerprint, renderer: renderer.optional() }))
    .max(100)
    .describe('Environments that the run acts in.'),
  policy: policyRef.nullable().describe('Policy that the run starts with; null when it has none.'),
  policyDigest: sha256.optional().describe('SHA-256 of the file that the policy was read from; absent for other policies.'),
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
  message: remark.describe('Reason for the outcome, or a summary of what failed; empty when nothing did.'),
  trees: count.describe('Number of trees in the run.'),
  rollouts: count.describe('Number of rollouts in the run.'),
  steps: count.describe('Number of actions taken in the run.'),
});

const recorderId = id.describe('UUID of the recorder in the run.');

export const recorderJoined = eventData('A program joined a run: it records trees of the run, as others may at the same time.', {
  runId,
  recorderId,
  name: z.string().max(200).describe('Name from which ids of its trees follow: the next recorder of the name continues them.'),
  session: id.describe('UUID of the process: of two that join under one name at once, the other one is refused.'),
  endedByOpener: z
    .literal(true)
    .optional()
    .describe('Given where the run ends when who opened it says so, not when all who joined have left.'),
});

export const recorderLeft = eventData(
  'A program left a run that it had joined: when all have left, one as `completed`, the run ends, or by its opener.',
  {
    runId,
    recorderId,
    outcome: z.enum(['completed', 'failed', 'cancelled']).describe('How it left; `failed` and `cancelled` end no run.'),
    message: remark.describe('Reason for the outcome; empty when it completed.'),
  },
);

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
  weights: sha256.optional().describe('SHA-256 of the weights at that step; absent when unknown.'),
});
