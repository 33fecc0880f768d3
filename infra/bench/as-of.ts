import type { Offsets } from '../../src/log/event-log.ts';
import { keepSnapshots } from '../../src/projections/as-of/snapshots.ts';
import { appendTo, projectSlice, testLog } from '../../src/testing/given-events.ts';
import type { Outcome } from './outcome.ts';
import { percentile } from './percentile.ts';
import type { Size, Stage } from './stage.ts';
import { GROUP, recordTrajectories } from './trajectories.ts';

const GROUPS: Record<Size, number> = { full: 400, quick: 2 };
const TREES: Record<Size, number> = { full: 20, quick: 2 }; // each asked for once: the second time it is there
const SLICE = 4_000;

/**
 * Measures what it takes until the read models stand as of a position: of one tree of 1,000 steps among others, whose stream
 * alone is folded, and of the whole record. The position is one event before the end, so that nothing is there already.
 */
export async function benchAsOf(stage: Stage): Promise<Outcome> {
  const database = await stage.database();
  const log = testLog();
  const large = recordTrajectories({ trees: TREES[stage.size], rollouts: 100, steps: 10, name: 'as of' });
  const others = recordTrajectories({ ...GROUP, trees: GROUPS[stage.size], name: 'others' });
  appendTo(log, [...large, ...others]);
  for (const [topic, records] of log.topics)
    for (let from = 0; from < records.length; from += SLICE)
      await projectSlice(database.db, log, topic, from, Math.min(records.length, from + SLICE));
  await database.pool.query('analyze');
  const position: Offsets = new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length - 1]])]));
  const moment = { kind: 'position', position } as const;
  const snapshots = keepSnapshots(database, database.url, { records: Number.MAX_SAFE_INTEGER });
  stage.closing(() => snapshots.close());
  const time = async (of: Parameters<typeof snapshots.at>[1]): Promise<number> => {
    const began = performance.now();
    const snapshot = await snapshots.at(moment, of, new AbortController().signal);
    const took = performance.now() - began;
    snapshot.release();
    return took;
  };
  const opened = large.flatMap((event) => (event.type === 'TreeOpened' ? [event.data.treeId] : []));
  const ofTrees: number[] = [];
  for (const tree of opened) ofTrees.push(await time({ runs: [], trees: [tree], steps: [], rollouts: [] }));
  const whole = await time('all');
  const again = await time('all');
  const events = large.length + others.length;
  return {
    bench: 'as-of',
    figures: [
      {
        name: 'a tree of 1,000 steps as of a position',
        value: percentile(ofTrees, 0.5),
        unit: 'ms',
        baseline: null,
        goal: { kind: 'below', limit: 1_000 },
      },
      {
        name: 'the whole record as of a position',
        value: (events / whole) * 1_000,
        unit: 'events/s',
        baseline: null,
        goal: null,
      },
      { name: 'the same once more', value: again, unit: 'ms', baseline: null, goal: null },
    ],
    conditions: {
      events,
      trees: opened.length + GROUPS[stage.size],
      'ms for the whole': Math.round(whole),
      ...stage.conditions(),
    },
  };
}
