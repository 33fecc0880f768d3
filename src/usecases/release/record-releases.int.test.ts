import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import { DEFAULT_STAMP, type Envelope } from '../../events/envelope.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Projection } from '../../projections/projection.ts';
import { isSame } from '../../projections/rebuild/compare-tables.ts';
import { rewards } from '../../projections/rewards/rewards.ts';
import { runProjections } from '../../projections/runner.ts';
import { stepTree } from '../../projections/step-tree/step-tree.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { replayProjections } from '../replay/replay-projections.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { recordReleases } from './record-releases.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let runner: Subscription;
beforeEach(async () => {
  platform = await openTestPlatform();
  runner = await runProjections(platform);
});
afterEach(async () => {
  await runner.close();
  await platform.close();
});

const signal = new AbortController().signal;
const patient = { signal, progress: () => undefined, limitMs: 60_000 };

async function given(events: readonly Envelope[]): Promise<void> {
  await platform.log.append(await prepareEvents(events, platform.blobs, DEFAULT_STAMP));
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
}

/** Releases the one record that waits for a projection as versions did whose releases were no records of the log. */
async function releaseInTheDatabaseAlone(projection: Projection, schema: string): Promise<void> {
  await platform.database.db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ topic: string; partition: number; offset: number; body: Buffer }>`
      update quarantine set released_at = now() where projection = ${projection.name} and released_at is null
      returning topic, partition, "offset", body`.execute(trx);
    await sql`set local search_path = ${sql.raw(schema)}, public`.execute(trx);
    for (const { body, ...place } of rows) {
      const decoded = decode(body);
      if (decoded.kind === 'refused') throw new Error(decoded.refusal.message);
      expect(
        await projection.project([{ ...place, receivedAt: null, event: decoded.event, body: body.toString() }], trx),
      ).toEqual([]);
    }
  });
}

test('releases that an earlier version kept in the database alone are named, and recorded with what was folded on top of them', async () => {
  const builder = new EventBuilder('earlier');
  const tree = builder.tree(builder.run(), 'a');
  const rollout = builder.rollout(tree);
  const first = builder.step(tree, rollout, tree.rootStepId, 1);
  const leaf = builder.step(tree, rollout, builder.step(tree, rollout, first, 2), 3);
  builder.finishRollout(tree, rollout, leaf, { steps: 3 });
  const [run, opened, started, parent, early, ...later] = builder.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
  await given([run, opened, started, early, parent]);
  await releaseInTheDatabaseAlone(stepTree, 'step_tree_v1');
  await releaseInTheDatabaseAlone(rewards, 'rewards_v1');
  await given(later);
  const tables = async () => ({
    steps: await platform.database.db.selectFrom('steps').selectAll().orderBy('depth').execute(),
    returns: await platform.database.db.selectFrom('returns').selectAll().execute(),
  });
  const live = await tables();
  expect([live.steps.length, live.returns.length]).toEqual([4, 1]);

  const { topic, partition, offset } = await platform.database.db
    .selectFrom('quarantine')
    .select(['topic', 'partition', 'offset'])
    .executeTakeFirstOrThrow();
  const at = `${topic}.${partition}:${offset}`;
  const { faults } = await verifyRecord(platform, { files: [], signal });
  expect(faults).toEqual(
    ['rewards', 'step-tree'].map((name) => ({ what: 'release', kind: 'unrecorded', place: `${name} ${at}` })),
  );
  await expect(replayProjections(platform, [stepTree], patient)).rejects.toThrow(
    '`espalier quarantine record-releases` appends them',
  );

  const waiting = { timeoutMs: 30_000, signal };
  expect(await recordReleases(platform, waiting)).toEqual({ releases: 1, followers: 3 });
  expect(await tables()).toEqual(live);
  expect((await verifyRecord(platform, { files: [], signal })).faults).toEqual([]);
  // What was refused for want of the step is folded behind its release: the rows are the same, but for where they lie in the log.
  const { comparisons } = await replayProjections(platform, [rewards, stepTree], patient);
  for (const { tables: sums } of comparisons) expect(sums.map(({ anew }) => anew.rows)).toEqual(sums.map((sum) => sum.live.rows));
  expect(comparisons[0]?.tables.every(isSame)).toBe(true);
  expect(await recordReleases(platform, waiting)).toEqual({ releases: 0, followers: 0 });
});
