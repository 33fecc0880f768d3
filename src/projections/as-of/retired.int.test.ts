import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Subscription } from '../../log/event-log.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestWorld, type TestWorld } from '../../testing/open-test-log.ts';
import { journal } from '../journal/journal.ts';
import { journalChain } from '../journal-chain/journal-chain.ts';
import type { Projection } from '../projection.ts';
import { dropBuild } from '../rebuild/open-build.ts';
import { swapVersions } from '../rebuild/swap-versions.ts';
import { withNewBuild } from '../rebuild/with-new-build.ts';
import { runProjections } from '../runner.ts';
import { keepSnapshots, type Snapshots } from './snapshots.ts';

const NEVER = new AbortController().signal;

let world: TestWorld;
let runner: Subscription;
let snapshots: Snapshots;
beforeEach(async () => {
  world = await openTestWorld(1);
  runner = await runProjections({ log: world.log, database: world.database });
  snapshots = keepSnapshots(world.database, world.url, { records: 1_000 });
});
afterEach(async () => {
  await snapshots.close();
  await runner.close();
  await world.close();
});

/** Folds a projection again, lets it take over, and drops what was live before. */
async function rebuildAndRetire(projection: Projection): Promise<void> {
  const waiting = { signal: NEVER, limitMs: 20_000 };
  const from = await withNewBuild(world, projection, { signal: NEVER, progress: () => undefined }, (build) =>
    swapVersions(world.database, build, waiting),
  );
  await dropBuild(world.database.db, projection, from);
}

test.each([
  ['events', journal],
  ['chain_blocks', journalChain],
] as const)(
  'a kept snapshot whose %s were dropped with a retired version is folded again for the next reader',
  async (table, projection) => {
    const builder = new EventBuilder('retired');
    builder.tree(builder.run());
    await world.append(builder.events);
    await world.settled();
    const position = await world.log.ends(['runs', 'trees']);
    const ask = async () => {
      const { db, release } = await snapshots.at({ kind: 'position', position }, 'all', NEVER);
      const { rows } = await sql`select topic from ${sql.table(table)} order by topic`.execute(db);
      release();
      return { db, rows };
    };
    const before = await ask();
    expect(before.rows).toEqual([{ topic: 'runs' }, { topic: 'trees' }]);
    expect((await ask()).db).toBe(before.db);
    await rebuildAndRetire(projection);
    expect((await ask()).rows).toEqual(before.rows);
  },
);
