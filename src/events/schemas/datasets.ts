import { z } from 'zod';
import { count, counter, id, json, name, sha256 } from './values.ts';

/**
 * A file of training examples was frozen under a name. `query` and `parameters` are what it was made by, `position` where each projection that
 * was read stood, `runs` those that its examples come from. Equal content is the same dataset; other content is the next version.
 */
export const datasetReleased = z.strictObject({
  datasetId: id,
  name,
  version: count.min(1),
  format: name,
  formatVersion: count,
  query: json,
  parameters: json,
  position: z.record(name, z.string().max(10_000)),
  counts: json,
  bytes: counter,
  sha256,
  codeVersion: name,
  runs: z.array(id).max(10_000),
});

/**
 * What some examples of a released file were made of, in the order of its lines: enough to go from a line to the record and back. `sha256` is that of
 * the file, so that what is said of other content under the same id counts for nothing.
 */
export const datasetSourced = z.strictObject({
  datasetId: id,
  sha256,
  part: count,
  examples: z
    .array(
      z.strictObject({
        /** The first line of the example, from 1, and how many it takes. */
        line: count.min(1),
        lines: count.min(1),
        kind: z.enum(['good', 'revision', 'pair']),
        treeId: id,
        goodRolloutId: id,
        badRolloutId: id.nullable(),
        revisionId: id.nullable(),
      }),
    )
    .min(1)
    .max(1_000),
});

/** A dataset is not to be trained on any more. The record of it stays. */
export const datasetWithdrawn = z.strictObject({ datasetId: id, reason: z.string().min(1).max(10_000) });
