import { z } from 'zod';
import { THRESHOLD_DEFAULTS } from '../../domain/revision/thresholds.ts';
import { number } from './export/parse-trajectory-query.ts';
import { CONTEXTS, DATA, FILE_FORMATS, LAYOUTS, SCOPES, SPANS, STATES, WEIGHTS } from './export-choices.ts';
import { MOMENT, namesOneMoment, ONE_MOMENT } from './tables/table-query.ts';

const flag = z.enum(['true', 'false']).transform((text) => text === 'true');
const share = number.refine((value) => value >= 0 && value <= 1, 'must be a number from 0 to 1');
const list = z.string().max(10_000);
const text = z.string().max(100);

/**
 * What a request asks of an export: the options of `espalier export` that need no file of its machine, by the same names. A
 * parameter that is misspelt is refused: it would choose everything.
 */
export const exportQuery = z
  .strictObject({
    format: z.enum(FILE_FORMATS).default('openai').describe('The format of the file.'),
    data: z.enum(DATA).optional().describe('Whole trajectories, prompts to sample from (verl), or examples of searched trees.'),
    weights: z.enum(WEIGHTS).default('own').describe('Which replies have loss if rollouts share a prefix.'),
    context: z.enum(CONTEXTS).default('refuse').describe('openai, sharegpt: what becomes of replies without loss.'),
    scope: z.enum(SCOPES).default('trajectories').describe('jsonl: the exported part of a tree.'),
    layout: z.enum(LAYOUTS).default('trajectory').describe('verl: a row per trajectory or per step.'),
    metadata: flag.default(true).describe('Whether each line says where it is from.'),
    alpha: share.default(THRESHOLD_DEFAULTS.alpha).describe('Mined: minimum return of a good leaf.'),
    beta: share.default(THRESHOLD_DEFAULTS.beta).describe('Mined: minimum gap to the bad one.'),
    state: z.enum(STATES).default('verified').describe('Revisions: only verified ones, or unexecuted ones too.'),
    judge: text.optional().describe('Revisions: only of this judge, as name or name@revision.'),
    span: z.enum(SPANS).default('reply').describe('dpo: the first different reply, or everything after the branch.'),
    maxPerTask: z
      .string()
      .regex(/^[1-9]\d{0,8}$/, 'must be a whole number from 1')
      .transform(Number)
      .optional()
      .describe('Mined: maximum examples of a task and kind.'),
    allowEmpty: flag.default(false).describe('Trajectories: a file even if nothing matches.'),
    run: list.optional().describe('Run ids, with commas between them.'),
    environment: list.optional().describe('Environments.'),
    task: list.optional().describe('Task ids or aliases.'),
    split: list.optional().describe('Splits of the tasks.'),
    outcome: list.optional().describe('How they ended; rows are made of terminated and truncated ones unless given.'),
    success: text.optional().describe('`true` or `false`.'),
    label: list.optional().describe('With one of these labels, on the rollout or one of its steps.'),
    withoutLabel: list.optional().describe('With none of these labels.'),
    returnMin: text.optional().describe('Lower bound of the return.'),
    returnMax: text.optional().describe('Upper bound of the return.'),
    policy: list.optional().describe('Policies, or `id@version`.'),
    from: text.optional().describe('Finished at or after: a date in UTC, or a time with its zone.'),
    before: text.optional().describe('Finished before.'),
    unclear: text
      .optional()
      .describe('Captured rollouts with unclear calls or parts that could not be read: `keep` or `drop`; refused unless given.'),
    ...MOMENT,
    manifest: flag.default(false).describe('Answers the manifest of the file in its place.'),
  })
  .refine(namesOneMoment, ONE_MOMENT);

export type ExportParameters = z.output<typeof exportQuery>;
