import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { positionAfter } from '../../log/position.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { tryOwnWork } from '../../postgres/own-work.ts';
import { journal } from '../../projections/journal/journal.ts';
import { owners } from '../../projections/owners/owners.ts';
import { readLeftRuns } from '../../projections/runs/read-recorders.ts';
import { readRunTotals } from '../../projections/runs/read-run-totals.ts';
import { runs } from '../../projections/runs/runs.ts';
import { readEndedGroups } from '../../projections/step-tree/read-ended-groups.ts';
import { stepTree } from '../../projections/step-tree/step-tree.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';

/** What it takes to end what several programs record. */
export type LeftWorld = Pick<Platform, 'log' | 'blobs' | 'stamp'> & { readonly database: Pick<Platform['database'], 'db'> };

const PRODUCER = 'espalier/close-left';
const CAUGHT_UP_MS = 30_000;
/** How long a run goes on when all have left: processes that are started together do not join together. */
const GRACE_MS = 10_000;
const READ = [journal, owners, runs, stepTree];

/**
 * Closes the groups whose members were recorded by several programs and have all ended, and ends the runs that all who joined
 * have left. No program can know of the others: the record does. One process of the installation does it at a time; killed in
 * between, the next one appends the same events again.
 */
export async function closeLeft(world: LeftWorld, signal: AbortSignal, graceMs = GRACE_MS): Promise<void> {
  const { db } = world.database;
  if (!(await isAnyDue())) return;
  await tryOwnWork(db, 'close what all have left', async () => {
    await caughtUp(); // what the last owner appended, and what those who left recorded
    const appender = openAppender(world, PRODUCER);
    const drafts = [...(await closingGroups(world)), ...(await endingRuns(world, graceMs))];
    if (drafts.length === 0) return;
    const behind = positionAfter(await appender.append(drafts));
    await waitUntilProjected(db, behind, { timeoutMs: CAUGHT_UP_MS, signal, projections: READ });
  });

  async function isAnyDue(): Promise<boolean> {
    return (await readEndedGroups(db)).length > 0 || (await readLeftRuns(db, graceMs)).length > 0;
  }

  async function caughtUp(): Promise<void> {
    await waitUntilProjected(db, await world.log.ends(TOPICS), { timeoutMs: CAUGHT_UP_MS, signal, projections: READ });
  }
}

/** The group is closed when its last member has ended by anyone's clock: a member is never later than its group. */
async function closingGroups({ database: { db } }: LeftWorld) {
  const groups = await readEndedGroups(db);
  return groups.map(
    ({ treeId, runId, rollouts, endedAt }) =>
      ({
        type: 'TreeClosed',
        id: derivedId('TreeClosed', treeId),
        correlationId: runId,
        occurredAt: new Date(Math.max(endedAt.getTime(), Date.now())).toISOString(),
        data: { treeId, reason: 'completed', rollouts },
      }) as const,
  );
}

async function endingRuns({ database: { db } }: LeftWorld, graceMs: number) {
  const totals = await readRunTotals(db, await readLeftRuns(db, graceMs));
  return totals.map(({ runId, trees, rollouts, steps, failed }) => {
    const hasFailed = rollouts > 0 && failed === rollouts;
    const end = hasFailed
      ? ({ outcome: 'failed', message: 'every rollout failed' } as const)
      : ({ outcome: 'completed', message: '' } as const);
    const data = { runId, ...end, trees, rollouts, steps };
    return { type: 'RunFinished', id: derivedId('RunFinished', runId), correlationId: runId, data } as const;
  });
}
