import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { applySlice, foldAndWrite } from '../apply-slice.ts';
import type { applyIsolatingPoison } from '../isolate-poison.ts';
import { LoadEnds } from '../projection.ts';
import type { Slice } from '../slice.ts';
import type { Build } from './build.ts';

/** `topic.partition` → the offset to which this process has moved the cursor of the build. */
type Reached = Map<string, number>;

/**
 * Applies slices by one fold that remembers them. When one fails, what is remembered is more than what was written: no other is
 * applied. The same holds when the database lost commits that it had answered (it was replaced by an older copy, or crashed: a
 * fold does not wait for the disk). Tables and cursors are lost together, so a cursor that is below where this process left it
 * shows the loss, on whatever partition. One beyond it was moved by a process that took this one for dead.
 */
export function applyLoad({ projection }: Build, ended: AbortController): typeof applyIsolatingPoison {
  const project = projection.load?.open() ?? projection.project;
  const reached: Reached = new Map();
  return async (db, shadow, slice) => {
    try {
      if (ended.signal.aborted) throw ended.signal.reason;
      const applied = await applySlice(db, { ...shadow, project }, slice, async (trx, folding, toFold, items) => {
        await refuseOtherCommits(trx, folding.name, reached, toFold);
        return foldAndWrite(trx, folding, [{ ...toFold, items }]);
      });
      reached.set(`${slice.topic}.${slice.partition}`, applied.cursor);
      return applied;
    } catch (error) {
      ended.abort(error);
      throw new LoadEnds(error instanceof Error ? error.message : String(error), { cause: error });
    }
  };
}

async function refuseOtherCommits(trx: Trx, projection: string, reachedNow: Reached, toFold: Slice): Promise<void> {
  const reached = new Map(reachedNow); // other slices commit, and move it on, while the answer is under way
  const { rows } = await sql<{ topic: string; partition: number; offset: number }>`
    select topic, partition, next_offset as offset from public.cursors where projection = ${projection}`.execute(trx);
  const now = new Map(rows.map(({ topic, partition, offset }) => [`${topic}.${partition}`, offset]));
  for (const [place, offset] of reached) {
    const cursor = now.get(place) ?? 0;
    if (cursor < offset) throw new LoadEnds(`the database lost commits: the cursor on ${place} was ${offset} and is ${cursor}`);
  }
  const own = `${toFold.topic}.${toFold.partition}`;
  const cursor = now.get(own) ?? 0;
  if (cursor > (reached.get(own) ?? 0))
    throw new LoadEnds(
      `another process folds into this build: the cursor on ${own} is ${cursor}, and was not moved there by this one`,
    );
}
