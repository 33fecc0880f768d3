import type { Command } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { type DrawingOptions, drawSearch, drawTree } from '../domain/tree/draw-tree.ts';
import type { Db } from '../postgres/database.ts';
import { isForgotten } from '../postgres/stream-keys.ts';
import type { Moment } from '../projections/as-of/moment.ts';
import {
  countBackups,
  type NodeStatistics,
  readStatistics,
  readStatisticsAsOf,
} from '../projections/search-statistics/read-statistics.ts';
import { readRecordedTrees } from '../projections/trajectories/read-recorded-trees.ts';
import type { RecordedTree } from '../projections/trajectories/recorded-tree.ts';
import { digestOf } from '../usecases/datasets/digest-trees.ts';
import { AS_OF, atMoment, parseMoment } from './at-moment.ts';
import { print } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatformToRead } from './with-platform.ts';

interface TreeFlags {
  readonly lines: number;
  readonly ids?: true;
  readonly asOf?: Moment;
  readonly simulation?: number;
}

/** `espalier tree ID`: draws one tree in the terminal. */
export function addTree(program: Command): void {
  const command = program
    .command('tree')
    .argument('<id>', 'the tree id')
    .option('--as-of <moment>', `the tree ${AS_OF}`, parseMoment)
    .option('--simulation <n>', 'of a search: visits and values after n simulations', wholeNumber('--simulation', 0))
    .option('--lines <n>', 'maximum number of lines', wholeNumber('--lines', 1, 1_000_000), 200)
    .option(
      '--ids',
      'a line per step, ending in its id for `replay fork` and `trace`; of equal steps the first (--json lists all)',
    );
  command.action((id: string, flags: TreeFlags) =>
    withPlatformToRead('tree', async (platform, signal) => {
      if (!isUuid(id)) throw new Error(`a tree id is a UUID in lower case, not ${JSON.stringify(id)}`);
      const of = { runs: [], trees: [id], steps: [], rollouts: [] };
      await atMoment(platform, flags.asOf, of, signal, async (db) => {
        const tree = await readTree(db, id);
        if (!tree && flags.asOf) throw new Error(`there was no tree ${id} then; \`espalier trace\` says when it was opened`);
        if (!tree) throw new Error(`there is no tree ${id}; \`espalier status\` lists the runs, GraphQL their trees`);
        const forgotten = await isForgotten(platform.database.db, id);
        const digest = forgotten ? null : await digestOf(tree, platform.blobs); // placeholders have another one
        if (wantsJson(command))
          return print(
            JSON.stringify({
              tree: id,
              digest,
              forgotten,
              ...countsOf(tree),
              ...(flags.ids && { ids: [...tree.tree.nodes.keys()] }),
            }),
          );
        const { simulation } = flags;
        if (simulation !== undefined) await refuseBeyond(db, id, simulation);
        const statistics = simulation === undefined ? readStatistics(db, [id]) : readStatisticsAsOf(db, [id], simulation);
        print(drawRecorded(tree, await statistics, { lines: flags.lines, ids: flags.ids ?? false }));
        print(forgotten ? 'its payload is forgotten: it has no digest' : `digest ${digest}`);
      });
    }),
  );
}

/** @throws Error when the tree was not searched, or had fewer simulations. */
async function refuseBeyond(db: Db, id: string, simulation: number): Promise<void> {
  const backups = (await countBackups(db, [id])).get(id) ?? 0;
  if (backups === 0) throw new Error(`--simulation is of a search, and tree ${id} is none`);
  if (simulation > backups) throw new Error(`--simulation is at most ${backups}: so many the search of tree ${id} has`);
}

function countsOf({ tree, rollouts }: RecordedTree) {
  return { steps: tree.nodes.size - 1, rollouts: rollouts.size };
}

export async function readTree(db: Db, id: string): Promise<RecordedTree | undefined> {
  return (await db.transaction().execute((trx) => readRecordedTrees(trx, [id]))).get(id);
}

/**
 * Draws a recorded tree with a closing line for what was left out: one that was searched with visits and values, another with its
 * successes.
 */
export function drawRecorded(
  { tree, rollouts }: RecordedTree,
  statistics: readonly NodeStatistics[],
  options: DrawingOptions,
): readonly string[] {
  const won = new Set([...rollouts.values()].flatMap((r) => (r.success && r.leafStepId ? [r.leafStepId] : [])));
  const visited = new Map(statistics.map((of) => [of.stepId, of]));
  const { lines, hidden } = visited.size > 0 ? drawSearch(tree, visited, options) : drawTree(tree, won, options);
  return hidden > 0 ? [...lines, `… ${hidden} more lines`] : lines;
}
