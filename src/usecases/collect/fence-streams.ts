import type { Draft } from '../../append/appender.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Offsets } from '../../log/event-log.ts';
import { positionAfter } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { type AppendingWorld, openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readRecordedEpoch } from '../../projections/epochs/mark-superseded.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import type { HeldRun } from './hold-run.ts';

const CATCH_UP_MS = 60_000;

/**
 * Takes over streams of a run from the collectors before, and returns the place behind them. Null where there was none: then
 * nothing is recorded.
 */
export interface Fences {
  run(): Promise<Offsets | null>;
  tree(treeId: string): Promise<Offsets | null>;
  trees(treeIds: readonly string[]): Promise<Offsets | null>;
}

/**
 * Takes over a recorded run from a process that held it, judged it or scored it, and was replaced: the run and every tree of it,
 * before they are read. Where the last holder gave the run back nothing is on its way, and nothing is recorded.
 */
export async function takeOverRecorded(platform: Platform, held: HeldRun, runId: string, signal: AbortSignal): Promise<void> {
  const { db } = platform.database;
  await held.raiseAbove(await readRecordedEpoch(db, runId));
  if (!held.replaced) return;
  const fences = openFences(platform, { runId, epoch: held.epoch, signal });
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
