import { at } from '../../../domain/training/rows/rows.ts';
import type { PackedRow } from './pack-rows.ts';

/** Rows of steps as sequences that are computed once each, and where the sampled tokens of every row are in them. */
export interface MergedRows {
  readonly sequences: readonly PackedRow[];
  /** The rows of each sequence, by position. */
  readonly members: readonly (readonly number[])[];
  /** Lays a column of rows out over the sequences; 0 on tokens that were shown. */
  spread(rows: readonly ArrayLike<number>[]): readonly Float64Array[];
  /** Takes the column of each row from one of the sequences. */
  split(sequences: readonly ArrayLike<number>[]): readonly Float64Array[];
}

/**
 * Merges consecutive steps of a rollout where the prompt of the next begins with the prompt and reply of the one before: what
 * they share is computed once. A row is a step still: its log-probs, values, advantages and losses are those of its own tokens.
 * @param rows in the order of their steps.
 */
export function mergeRows(
  rows: readonly { readonly trajectory: string; readonly step: number; readonly packed: PackedRow }[],
): MergedRows {
  const open: Open[] = [];
  const places: Place[] = [];
  for (const [i, { trajectory, step, packed }] of rows.entries()) {
    const before = rows[i - 1];
    const last = open.at(-1);
    const follows = before?.trajectory === trajectory && before.step === step - 1;
    const between = follows && last ? continuation(last, packed) : null;
    const into: Open = last && between ? last : { prompt: packed.prompt, ids: [], trained: [], members: [], shown: undefined };
    if (into !== last) open.push(into);
    into.shown = packed.shown; // its prompt begins with all that was shown before
    for (const id of between ?? []) append(into, id, 0);
    places.push({ sequence: open.length - 1, from: into.ids.length, to: into.ids.length + packed.sampled.length });
    for (const [t, id] of packed.sampled.entries()) append(into, id, packed.trained ? at(packed.trained, t) : 1);
    into.members.push(i);
  }
  return {
    sequences: open.map(({ prompt, ids, trained, shown }) => {
      const sequence = { prompt, sampled: ids, trained: Uint8Array.from(trained) };
      return shown ? { ...sequence, shown } : sequence;
    }),
    members: open.map(({ members }) => members),
    spread(columns) {
      const spread = open.map(({ ids }) => new Float64Array(ids.length));
      for (const [i, { sequence, from }] of places.entries()) spread[sequence]?.set(columns[i] ?? [], from);
      return spread;
    },
    split: (sequences) => places.map(({ sequence, from, to }) => Float64Array.from(sequences[sequence] ?? []).slice(from, to)),
  };
}

/** Leaves each row a sequence of its own, where what is computed counts rows. */
export function unmergedRows(packed: readonly PackedRow[]): MergedRows {
  const copied = (columns: readonly ArrayLike<number>[]) => columns.map((column) => Float64Array.from(column));
  return { sequences: packed, members: packed.map((_, i) => [i]), spread: copied, split: copied };
}

interface Place {
  readonly sequence: number;
  readonly from: number;
  readonly to: number;
}

interface Open {
  readonly prompt: readonly number[];
  /** What follows the prompt: sampled, and shown in between. */
  readonly ids: number[];
  readonly trained: number[];
  readonly members: number[];
  shown: PackedRow['shown'];
}

function append({ ids, trained }: Open, id: number, mask: number): void {
  ids.push(id);
  trained.push(mask);
}

/**
 * Returns what follows a sequence in a prompt; null where the prompt does not begin with it, or shows other pictures on the same
 * tokens.
 */
function continuation({ prompt, ids, shown }: Open, { prompt: next, shown: nextShown }: PackedRow): readonly number[] | null {
  const length = prompt.length + ids.length;
  if (shown?.pictures.some((picture, i) => nextShown?.pictures[i] !== picture)) return null;
  if (next.length < length) return null;
  for (let t = 0; t < length; t++) if (next[t] !== (t < prompt.length ? prompt[t] : ids[t - prompt.length])) return null;
  return next.slice(length);
}
