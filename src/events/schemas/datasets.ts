import { z } from 'zod';
import { codeVersion, count, counter, eventData, id, json, name, sha256, treeId } from './values.ts';

const datasetId = id.describe('UUID of the dataset, derived from its name and version.');

/** Equal content under one name is the same dataset; other content is the next version. */
export const datasetReleased = eventData('A file of training examples was released under a name and a version.', {
  datasetId,
  name: name.describe('Name of the dataset.'),
  version: count.min(1).describe('Version of the dataset under its name, from 1.'),
  format: name.describe('Format of the file, for example `xtuner`, `sharegpt` or `openai`.'),
  formatVersion: count.describe('Version of the format.'),
  query: json.describe('Filter that selected the trajectories, as JSON.'),
  parameters: json.describe('Options of the export, such as thresholds, gates and general data mixed in, as JSON.'),
  position: z.record(name, z.string().max(10_000)).describe('Log position of each projection that was read, by `name@version`.'),
  counts: json.describe('Numbers of lines and examples in the file, and of those left out by reason, as JSON.'),
  bytes: counter.describe('Size of the file in bytes.'),
  sha256: sha256.describe('SHA-256 of the file.'),
  codeVersion,
  runs: z.array(id).max(10_000).describe('UUIDs of the runs that the examples come from.'),
});

/**
 * Enough to go from a line to the record and back. `sha256` is that of the file, so that sources of other content under the same
 * id do not count.
 */
export const datasetSourced = eventData('The sources of a part of the examples of a released dataset were recorded.', {
  datasetId,
  sha256: sha256.describe('SHA-256 of the file that the examples are in.'),
  part: count.describe('Number of this part, from 0; the parts list the examples in the order of their lines.'),
  examples: z
    .array(
      z.strictObject({
        line: count.min(1).describe('First line of the example in the file, from 1.'),
        lines: count.min(1).describe('Number of lines of the example.'),
        kind: z
          .enum(['good', 'revision', 'pair'])
          .describe(
            'What the example is: a good trajectory, a revision, or a good and a bad trajectory for preference training.',
          ),
        treeId: treeId.describe('UUID of the tree that the example was made from.'),
        goodRolloutId: id.describe('UUID of the rollout of the good trajectory.'),
        badRolloutId: id.nullable().describe('UUID of the rollout of the bad trajectory; null for a good example.'),
        revisionId: id.nullable().describe('UUID of the revision; null for an example of another kind.'),
      }),
    )
    .min(1)
    .max(1_000)
    .describe('Examples with the records that they were made from.'),
});

/** The record of the dataset stays. */
export const datasetWithdrawn = eventData('A dataset was withdrawn and must no longer be trained on.', {
  datasetId,
  reason: z.string().min(1).max(10_000).describe('Reason for the withdrawal.'),
});
