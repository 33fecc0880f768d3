import { THRESHOLD_DEFAULTS } from '../../domain/revision/thresholds.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readTreeIds } from '../../projections/revisions/read-searched-trees.ts';
import { readStatistics } from '../../projections/search-statistics/read-statistics.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { revise } from '../../usecases/revise/revise.ts';
import { print } from '../terminal.ts';
import { drawRecorded, readTree } from '../tree.ts';
import { showRevision } from './show-revision.ts';

const CATCH_UP_MS = 60_000;
const LINES = 16; // of the tree

/**
 * Mines a search of one task, then shows its tree with visits and values, what the mining found, and one revision next to its
 * parents.
 */
export async function showSearch(platform: Platform, runId: string, signal: AbortSignal): Promise<void> {
  const { db } = platform.database;
  const { pairs, revisions, verified, rejected } = await revise(platform, {
    runId,
    judge: 'planner',
    checking: 'execute',
    environment: null,
    concurrency: 1,
    signal,
    plan: { ...THRESHOLD_DEFAULTS, seed: 1, signal: 'thought', unparsed: 'continue', beforeBranch: 'clamp' },
  });
  if (signal.aborted) return;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
  const [treeId = ''] = await readTreeIds(db, runId);
  const tree = await readTree(db, treeId);
  if (!tree) return;
  const size = `${tree.rollouts.size} trajectories in ${tree.tree.nodes.size - 1} steps`;
  print();
  print(`Its task searched (MCTS): ${size} (espalier tree ${treeId}):`);
  print(drawRecorded(tree, await readStatistics(db, [treeId]), { lines: LINES }));
  print();
  const refused = rejected.diverged + rejected.impossible + rejected.below;
  print(
    `${pairs} pairs of a good and a bad trajectory gave ${revisions} revisions; executed, ${verified} held and ${refused} did not.`,
  );
  const shown = await showRevision(platform, treeId);
  if (shown.length > 0) print(['The shortest that held (· context, ✓ trained on):', ...shown]);
}
