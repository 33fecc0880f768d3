import { z } from 'zod';
import { amount, count, eventData, id, name, remark, treeId } from './values.ts';

const annotationId = id.describe('UUID of the annotation; also the id of the event that added it.');

/** A word that people filter by: it is shown in lists and written in addresses, so it holds nothing that cannot be seen. */
export const label = name.max(100).regex(/^[^\p{C}\p{Zl}\p{Zp}]+$/u, 'must hold no control or formatting characters');

const subject = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('step').describe('A step.'), stepId: id.describe('UUID of the step.') }),
    z.strictObject({
      kind: z.literal('rollout').describe('A rollout, and the trajectory that it ended.'),
      rolloutId: id.describe('UUID of the rollout.'),
    }),
    z.strictObject({
      kind: z.literal('revision').describe('A revision.'),
      revisionId: id.describe('UUID of the revision.'),
    }),
    z.strictObject({
      kind: z.literal('row').describe('An example of a released dataset.'),
      datasetId: id.describe('UUID of the dataset.'),
      line: count.min(1).describe('First line of the example in the file, from 1.'),
    }),
    z.strictObject({ kind: z.literal('tree').describe('The tree as a whole.') }),
  ])
  .describe('What is annotated.');

/** One without label, score and note marks that somebody looked. Whose word it is says the principal, which the server stamps. */
export const annotationAdded = eventData('Somebody annotated something of a tree: with a label, a score or a note.', {
  annotationId,
  treeId,
  subject,
  label: label.nullable().describe('Label to filter by; null without one.'),
  score: amount.nullable().describe('Score; null without one.'),
  note: remark.describe('Text for people; empty without one.'),
});

export const annotationRetracted = eventData('An annotation was retracted: it no longer counts.', {
  annotationId,
  treeId,
  reason: remark.describe('Reason for the retraction; empty without one.'),
});
