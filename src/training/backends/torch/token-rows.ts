import type { ServedMessage } from '../../../domain/prompts/served-message.ts';
import { type Refused, refused } from '../../../domain/training/options.ts';
import { findLogProbFault } from '../../../domain/training/planning/token-fault.ts';
import { type RowPicture, type StepRow, sortRows } from '../step-row.ts';
import type { PackedRow } from './pack-rows.ts';

/** A step with what a language model needs of it. */
export interface TokenRow {
  readonly row: StepRow;
  readonly messages: readonly ServedMessage[];
  /** Schemas of the tools that were offered, as JSON; null for none. */
  readonly tools: string | null;
  /** Token ids of the messages; null where the server returned none. */
  readonly promptIds: readonly number[] | null;
  /** The pictures that the prompt shows, in order; with any, its token ids are known. */
  readonly pictures: readonly RowPicture[];
  /** Names the step in messages. */
  readonly where: string;
  readonly reply: ServedMessage;
  readonly ids: readonly number[];
  readonly recorded: readonly number[] | null;
}

/**
 * Takes the rows in the order in which sums are taken. Refuses rows without sampled tokens or chat, and what no update can be
 * computed of.
 */
export function tokenRows(rows: readonly StepRow[]): { readonly kind: 'rows'; readonly rows: readonly TokenRow[] } | Refused {
  const found: TokenRow[] = [];
  for (const row of sortRows(rows)) {
    const where = `step ${row.step} of rollout ${row.rolloutId}`;
    if (!Number.isFinite(row.reward)) return refused(`${where} has a reward that is not finite`);
    if (row.tokens === null || row.tokens.ids.length === 0)
      return refused(
        `${where} has no sampled token ids; ask an engine that returns them (re-tokenised text is not what was sampled)`,
      );
    const fault = findLogProbFault(where, row.tokens.logProbs, row.tokens.ids.length);
    if (fault !== null) return refused(fault);
    if (!row.chat)
      return refused(
        `${where} has no prompt on record that can be read again; collect by a server that returns the token ids of its prompts`,
      );
    if (!(row.temperature > 0)) return refused(`${where} was not sampled but taken greedily; there is no gradient of that`);
    const { messages, reply, tools = null, promptIds = null, pictures = [] } = row.chat;
    found.push({ row, messages, tools, promptIds, pictures, where, reply, ids: row.tokens.ids, recorded: row.tokens.logProbs });
  }
  if (found.length === 0) return refused('the batch has no step');
  const temperatures = new Set(found.map(({ row }) => row.temperature));
  if (temperatures.size > 1)
    return refused(`the rows were sampled at the temperatures ${[...temperatures].join(', ')}; a batch has one`);
  return { kind: 'rows', rows: found };
}

/** Finds a token id that a model has no embedding of: the tokens of another model, or of another tokenizer. */
export function findForeignId(rows: readonly TokenRow[], packed: readonly PackedRow[], vocabulary: number): string | null {
  for (const [i, { row }] of rows.entries()) {
    const { prompt = [], sampled = [] } = packed[i] ?? {};
    for (const [what, ids] of [
      ['prompt', prompt],
      ['reply', sampled],
    ] as const) {
      const place = ids.findIndex((id) => id < 0 || id >= vocabulary);
      if (place !== -1)
        return `step ${row.step} of rollout ${row.rolloutId}: token ${place} of its ${what} has the id ${ids[place]}, outside the vocabulary of ${vocabulary} of the model that is trained; train the model that sampled it`;
    }
  }
  return null;
}
