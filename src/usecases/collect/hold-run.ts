import { newId } from '../../events/new-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { giveRunBack, renewRun, takeRun } from '../../postgres/run-holds.ts';
import { hasEnded, inWords, thisProcess } from '../../runtime/this-process.ts';

/** A run that this process holds, the only one to do so. */
export interface HeldRun {
  /** Above those of all who held the run before. */
  readonly epoch: number;
  /** Another process held the run and did not give it back: what it appended may still be on its way. */
  readonly replaced: boolean;
  /** Aborts with `RunTakenOver` when another process took the run. */
  readonly lost: AbortSignal;
  /** Raises the epoch above one that the record holds. @throws RunTakenOver. */
  raiseAbove(recorded: number): Promise<void>;
  /** Returns the run. @throws RunTakenOver where another process had taken it. */
  release(): Promise<void>;
}

export interface HoldOptions {
  /** Names the holder, where one tries again after a fault; otherwise a new one each time. */
  readonly holder?: string;
  /** How long another holder must have been silent before it is replaced, ms. */
  readonly deadAfterMs?: number;
}

/** The run cannot be collected as asked: another process has it, or the record says something else about it. */
export class RunRefused extends Error {
  override readonly name: string = 'RunRefused';
}

/** Another process holds the run, or was heard from not long ago. */
export class RunBusy extends RunRefused {}

/** Another process took the run while this one was silent: what this one still appends has no effect. */
export class RunTakenOver extends RunRefused {
  override readonly name = 'RunTakenOver';
  constructor(runId: string) {
    super(
      `another process took over run ${runId} while this one was not heard from; what this one appends now has no effect: let it end`,
    );
  }
}

const BEAT_MS = 3_000; // a row of a small table
/** Five beats: a process that is frozen, or cut off from the database, and no busy one. */
export const DEAD_AFTER_MS = 15_000;

/**
 * Holds a run for this process, whose signs of life are rows of the database: no session of it is needed. A holder that ended
 * without giving the run back (killed, on this machine) or was silent for 15 s is replaced at the next epoch.
 * @throws RunBusy naming the process that holds it.
 */
export async function holdRun({ database: { db } }: Platform, runId: string, options: HoldOptions = {}): Promise<HeldRun> {
  const { holder = newId(), deadAfterMs = DEAD_AFTER_MS } = options;
  const asking = { runId, holder, process: thisProcess() };
  let taken = await takeRun(db, asking, { deadAfterMs, above: 0 });
  if (taken.kind === 'busy' && hasEnded(taken.process))
    taken = await takeRun(db, asking, { deadAfterMs, above: 0, ended: taken.epoch });
  if (taken.kind === 'busy') throw busy(runId, taken, deadAfterMs);
  let { epoch } = taken;
  const { replaced } = taken;
  const lost = new AbortController();
  const beat = setInterval(() => {
    // without the database nobody can take the run either
    const asked = epoch;
    renewRun(db, runId, asked).then(
      (held) => held || asked !== epoch || lost.abort(new RunTakenOver(runId)),
      () => undefined,
    );
  }, BEAT_MS);
  beat.unref();
  return {
    get epoch() {
      return epoch;
    },
    replaced,
    lost: lost.signal,
    async raiseAbove(recorded) {
      if (recorded < epoch) return;
      const raised = await takeRun(db, asking, { deadAfterMs, above: recorded });
      if (raised.kind === 'busy') throw new RunTakenOver(runId);
      epoch = raised.epoch;
    },
    async release() {
      clearInterval(beat);
      // where the database is away the run is taken when this process was silent
      if (!(await giveRunBack(db, runId, epoch).catch(() => true))) throw new RunTakenOver(runId);
    },
  };
}

/**
 * Works while this process holds a run. @param work is handed a signal that also aborts when another process took the run.
 * @throws as `holdRun`; RunTakenOver.
 */
export async function whileHeld<T>(
  platform: Platform,
  runId: string,
  signal: AbortSignal,
  work: (signal: AbortSignal, held: HeldRun) => Promise<T>,
): Promise<T> {
  const held = await holdRun(platform, runId);
  try {
    return await work(AbortSignal.any([signal, held.lost]), held);
  } finally {
    await held.release(); // what it throws says why the work failed, if it did
  }
}

function busy(runId: string, { process, silentMs }: { process: string; silentMs: number }, deadAfterMs: number): RunBusy {
  const seconds = (ms: number) => Math.round(ms / 1_000);
  return new RunBusy(
    `run ${runId} is being collected by another process (${inWords(process)}, heard from ${seconds(silentMs)} s ago); stop it first, or wait: who is silent for ${seconds(deadAfterMs)} s is replaced`,
  );
}
