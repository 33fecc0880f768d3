import type { Draft } from '../../append/appender.ts';
import { derivedId } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import type { Offsets } from '../../log/event-log.ts';
import { positionAfter } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { type AppendingWorld, openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { giveRunBack, renewRun, takeRun } from '../../postgres/run-holds.ts';
import { readRecordedEpoch } from '../../projections/epochs/mark-superseded.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
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
  work: (signal: AbortSignal, run: HeldRun) => Promise<T>,
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

const CATCH_UP_MS = 60_000;

/**
 * Takes over streams of a run from the collectors before, and returns the place behind them. Null where there was none: then
 * nothing is recorded.
 */
interface Fences {
  run(): Promise<Offsets | null>;
  tree(treeId: string): Promise<Offsets | null>;
  trees(treeIds: readonly string[]): Promise<Offsets | null>;
}

/**
 * Takes over a recorded run from a process that held it, judged it or scored it, and was replaced: the run and every tree of it,
 * before they are read. Where the last holder gave the run back nothing is on its way, and nothing is recorded.
 */
export async function takeOverRecorded(platform: Platform, run: HeldRun, runId: string, signal: AbortSignal): Promise<void> {
  const { db } = platform.database;
  await run.raiseAbove(await readRecordedEpoch(db, runId));
  if (!run.replaced) return;
  const fences = openFences(platform, { runId, epoch: run.epoch, signal });
  await fences.run();
  await fences.trees((await readTreesOfRun(db, runId)).map(({ treeId }) => treeId));
}

/**
 * Opens what a collector takes over streams by, before it reads them: an event behind which those of lower epochs have no effect,
 * and a wait until the read models hold it. So what is read is all that the collectors before it will ever have said there.
 */
export function openFences(
  platform: AppendingWorld,
  { runId, epoch, signal }: { readonly runId: string; readonly epoch: number; readonly signal: AbortSignal },
): Fences {
  const { database } = platform;
  // numbers of its own: those of the collector are looked up when what came before the fence is known
  const appender = openAppender(platform, 'resumer', { epoch });

  async function fence(drafts: readonly Draft[]): Promise<Offsets | null> {
    if (epoch === 1 || drafts.length === 0) return null;
    const position = positionAfter(await appender.append(drafts));
    await waitUntilProjected(database.db, position, { timeoutMs: CATCH_UP_MS, signal });
    return position;
  }

  const taken = (treeId: string): Draft => ({
    type: 'TreeResumed',
    id: derivedId('TreeResumed', treeId, epoch),
    correlationId: runId,
    data: { treeId, runId, epoch },
  });
  return {
    run: () =>
      fence([
        {
          type: 'RunResumed',
          id: derivedId('RunResumed', runId, epoch),
          correlationId: runId,
          data: { runId, epoch, codeVersion: CODE_VERSION },
        },
      ]),
    tree: (treeId) => fence([taken(treeId)]),
    trees: (treeIds) => fence(treeIds.map(taken)),
  };
}
