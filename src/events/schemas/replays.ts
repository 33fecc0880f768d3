import { z } from 'zod';
import { codeVersion, count, counter, eventData, excerpt, id, json, name, runId } from './values.ts';

/** What can be done over from the record. */
export const REPLAY_MODES = ['projections', 'environment', 'images', 'scores', 'training', 'fork'] as const;

export const replayFinished = eventData('A part of a run was repeated from the record and compared with what is recorded.', {
  runId,
  replayId: id.describe('UUID of the replay.'),
  mode: z.enum(REPLAY_MODES).describe('What was repeated.'),
  outcome: z.enum(['equal', 'differs']).describe('Whether everything that was compared is equal.'),
  compared: counter.describe('Number of things compared.'),
  differing: counter.describe('Number of compared things that differ.'),
  differences: z
    .array(
      z.strictObject({
        eventId: id.nullable().describe('UUID of the event that recorded the value; null when no single event did.'),
        stepId: id.nullable().describe('UUID of the step that the value belongs to; null when it belongs to none.'),
        field: name.describe('Name of the field that differs.'),
        recorded: excerpt.describe('Recorded value as text, cut to 2,000 characters.'),
        replayed: excerpt.describe('Value in the replay as text, cut to 2,000 characters.'),
      }),
    )
    .max(20)
    .describe('First differences, at most 20.'),
  notes: z
    .array(excerpt)
    .max(20)
    .describe('Conditions of the replay that bear on the result, such as a server other than the recorded one.'),
  parameters: json.describe('Parameters that the replay was called with, as JSON.'),
  codeVersion,
  seconds: count.describe('Duration of the replay in seconds.'),
});
