import { z } from 'zod';
import { count, counter, id, json, name } from './values.ts';

/** What can be done over from the record. */
export const REPLAY_MODES = ['projections', 'environment', 'images', 'scores', 'training', 'fork'] as const;

/**
 * Something of a run was done over from the record and compared with what stands there. `compared` counts what was compared; `differences` lists the
 * first that differ, by event or step and field; `differing` counts all. `parameters` are what the replay was asked for.
 */
export const replayFinished = z.strictObject({
  runId: id,
  replayId: id,
  mode: z.enum(REPLAY_MODES),
  outcome: z.enum(['equal', 'differs']),
  compared: counter,
  differing: counter,
  differences: z
    .array(
      z.strictObject({
        eventId: id.nullable(),
        stepId: id.nullable(),
        field: name,
        recorded: z.string().max(2_000),
        replayed: z.string().max(2_000),
      }),
    )
    .max(20),
  notes: z.array(z.string().max(2_000)).max(20),
  parameters: json,
  codeVersion: name,
  seconds: count,
});
