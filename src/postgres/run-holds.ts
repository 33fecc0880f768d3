import { sql } from 'kysely';
import type { Db } from './database.ts';
import { rowsWhere } from './rows-where.ts';

/** A process that wants to hold a run. */
export interface Holder {
  readonly runId: string;
  /** Names the holder; the same one takes the run again at once. */
  readonly holder: string;
  /** The process, in words and so that another one under its number differs. */
  readonly process: string;
}

export interface TakeOptions {
  /** A holder that was not heard from for so long is replaced, ms. */
  readonly deadAfterMs: number;
  /** The epoch that the record holds: the new one is above it, in a database that was restored or made again too. */
  readonly above: number;
  /** The holder of this epoch is known to have ended. */
  readonly ended?: number;
}

export type RunHold =
  /** `replaced`: another holder did not give the run back, and what it appended may still be on its way. */
  | { readonly kind: 'held'; readonly epoch: number; readonly replaced: boolean }
  | { readonly kind: 'busy'; readonly epoch: number; readonly process: string; readonly silentMs: number };

/** Takes a run at the next epoch, unless another holder is alive. Times are those of the database's clock. */
export async function takeRun(db: Db, { runId, holder, process }: Holder, options: TakeOptions): Promise<RunHold> {
  const { deadAfterMs, above, ended = 0 } = options;
  const taken = await sql<{ epoch: number; replaced: boolean }>`
    insert into run_epochs as e (run_id, epoch, holder, process)
    values (${runId}::uuid, ${above}::bigint + 1, ${holder}::uuid, ${process})
    on conflict (run_id) do update
    set epoch = greatest(e.epoch, ${above}::bigint) + 1, holder = excluded.holder, process = excluded.process, heard_at = clock_timestamp()
    where e.holder is null or e.holder = excluded.holder or e.epoch = ${ended}::bigint
       or e.heard_at <= clock_timestamp() - make_interval(secs => ${deadAfterMs}::float8 / 1000)
    returning epoch, -- the table as it was before this statement
      exists (select from run_epochs b where b.run_id = ${runId}::uuid and b.holder <> ${holder}::uuid) as replaced`.execute(db);
  const [held] = taken.rows;
  if (held) return { kind: 'held', ...held };
  const { rows } = await sql<{ epoch: number; process: string; silentMs: number }>`
    select epoch, process, greatest(0, extract(epoch from clock_timestamp() - heard_at) * 1000)::float8 as silent_ms
    from run_epochs where run_id = ${runId}::uuid`.execute(db);
  const [other] = rows;
  if (!other) throw new Error(`the row of run ${runId} in run_epochs was deleted while it was held`);
  return { kind: 'busy', ...other };
}

/** Records that the holder of an epoch lives; returns false once another one took the run. */
export async function renewRun(db: Db, runId: string, epoch: number): Promise<boolean> {
  const renewed = await sql`
    update run_epochs set heard_at = clock_timestamp() where run_id = ${runId}::uuid and epoch = ${epoch}::bigint`.execute(db);
  return renewed.numAffectedRows === 1n;
}

/** Returns a run; false where another one had taken it. */
export async function giveRunBack(db: Db, runId: string, epoch: number): Promise<boolean> {
  const given = await sql`
    update run_epochs set holder = null where run_id = ${runId}::uuid and epoch = ${epoch}::bigint`.execute(db);
  return given.numAffectedRows === 1n;
}

/** Reads the epochs of runs; of one that nobody ever took there is none. */
export async function readHeldEpochs(db: Db, runIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await rowsWhere(db, 'runEpochs', { runId: runIds }, ['runId', 'epoch']);
  return new Map(rows.map(({ runId, epoch }) => [runId, epoch]));
}
