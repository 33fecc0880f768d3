import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { describePlace } from '../../projections/place.ts';
import { isOf, type Projection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import { runProjections } from '../../projections/runner.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestWorld, type TestWorld } from '../../testing/open-test-log.ts';
import { requeueEvents } from '../requeue/requeue-events.ts';
import { replayProjections } from './replay-projections.ts';

let world: TestWorld;
const quiet = { signal: new AbortController().signal, progress: () => undefined, limitMs: 20_000 };
beforeEach(async () => {
  world = await openTestWorld();
});
afterEach(() => world.close());

function registered(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`there is no projection ${name}`);
  return found;
}

/** A run of two trees with walks that end in rewards, projected. */
async function givenWalks(): Promise<EventBuilder> {
  const builder = new EventBuilder('replayed');
  const runId = builder.run();
  for (const name of ['a', 'b']) {
    const tree = builder.tree(runId, name);
    for (let ordinal = 0; ordinal < 3; ordinal++) builder.walk(tree, ordinal, 3, ordinal);
  }
  await world.append(builder.events);
  const runner = await runProjections({ log: world.log, database: world.database });
  await world.settled();
  await runner.close();
  return builder;
}

describe('the replay of projections', () => {
  test('the replay finds the tables of every projection equal to a second fold of the log, and leaves nothing behind', async () => {
    await givenWalks();
    const { report, comparisons } = await replayProjections(world, projections, quiet);
    expect(report).toMatchObject({ mode: 'projections', outcome: 'equal', differing: 0, differences: [] });
    expect(comparisons.map(({ projection }) => projection)).toEqual(projections.map(({ name }) => name));
    const rewards = comparisons
      .find(({ projection }) => projection === 'rewards')
      ?.tables.find(({ table }) => table === 'rewards');
    expect(rewards).toMatchObject({ live: { rows: 6 }, anew: { rows: 6 } });
    expect(await leftovers()).toEqual({ builds: 0, cursors: 0, schemas: 0 });
  });

  test('the replay finds a planted fold bug by its checksum and names table, row and field', async () => {
    const builder = await givenWalks();
    const recorded = builder.events.flatMap((event) => (event.type === 'RewardAssigned' ? [event.data] : []));
    // six were recorded, each of this type
    const victim = recorded[3] as (typeof recorded)[number] & { rewardId: string; value: number };
    const rewards = registered('rewards');
    const wrong: Projection = {
      ...rewards,
      project: (batch, trx) =>
        rewards.project(
          batch.map((delivery) =>
            isOf(delivery, 'RewardAssigned') && delivery.event.data.rewardId === victim.rewardId
              ? { ...delivery, event: { ...delivery.event, data: { ...delivery.event.data, value: victim.value + 1 } } }
              : delivery,
          ),
          trx,
        ),
    };
    const { report } = await replayProjections(world, [registered('runs'), wrong], quiet);
    expect(report.outcome).toBe('differs');
    expect(report.differences).toContainEqual({
      eventId: null,
      stepId: null,
      field: `rewards ${victim.rewardId} ${victim.treeId}, value`,
      recorded: String(victim.value),
      replayed: String(victim.value + 1),
    });
    expect(report.differences.every(({ field }) => /^(rewards|returns|run_returns) /.test(field))).toBe(true);
    expect(report.notes).toContain('rewards: 6 rows live, 6 folded again, checksums differ');
  });

  test.each([
    ['changed', `update rewards_v4.rewards set scorer_revision = 'forged' where true`, 'rewards', 'scorer_revision'],
    ['missing', `delete from runs_v2.runs`, 'runs', ''],
  ])('the replay names a live row that is %s without the fold', async (_, statement, name, field) => {
    await givenWalks();
    await sql.raw(statement).execute(world.database.db);
    const { report, comparisons } = await replayProjections(world, [registered(name)], quiet);
    expect(report.outcome).toBe('differs');
    expect(comparisons[0]?.differences[0]).toMatchObject({ table: name, field });
  });

  const forgeries: [string, string, [RegExp, unknown, unknown]][] = [
    [
      'a value that JSON does not distinguish',
      `update rewards_v4.rewards set value = '-0' where value = 0`,
      [/^rewards [^ ]+ [^ ]+, value$/, '-0', '0'],
    ],
    [
      'a table that is no more',
      'drop table rewards_v4.reward_revisions cascade',
      [/^reward_revisions$/, 'no such table', 'a table'],
    ],
    [
      'a value that reads as if it were not there',
      `update runs_v2.runs set outcome = 'null'`,
      [/^runs [^ ]+, outcome$/, '"null"', 'null'],
    ],
    [
      'columns in another order, of which no row is to be named',
      `alter table rewards_v4.rewards rename scorer to was; alter table rewards_v4.rewards add column scorer text;
       update rewards_v4.rewards set scorer = was; alter table rewards_v4.rewards drop column was cascade`,
      [/^rewards$/, expect.stringMatching(/^\{"rows":6,"sum":"-?\d+"\}$/), expect.stringMatching(/^\{"rows":6,"sum":"-?\d+"\}$/)],
    ],
  ];
  test.each(forgeries)('tables whose checksums differ by %s are unequal', async (_, forge, [field, recorded, replayed]) => {
    await givenWalks();
    await sql.raw(forge).execute(world.database.db);
    const { report } = await replayProjections(world, [registered('rewards'), registered('runs')], quiet);
    expect(report).toMatchObject({ outcome: 'differs', notes: [expect.stringContaining('checksums differ')] });
    expect(report.differences[0]).toMatchObject({ field: expect.stringMatching(field), recorded, replayed });
    expect(await leftovers()).toEqual({ builds: 0, cursors: 0, schemas: 0 });
  });

  test('the replay counts requeued events as folded, and waiting ones as waiting', async () => {
    const builder = new EventBuilder('late');
    const runId = builder.run();
    const late = builder.tree(runId, 'late');
    builder.walk(late, 0, 2, 1);
    const opened = builder.events.filter(({ type }) => type === 'TreeOpened');
    await world.append([...builder.events.filter(({ type }) => type !== 'TreeOpened'), ...opened]);
    const runner = await runProjections({ log: world.log, database: world.database });
    await world.settled();
    const { db } = world.database;
    const waiting = () =>
      db.selectFrom('quarantine').select(['projection', 'topic', 'partition', 'offset']).where('requeuedAt', 'is', null);
    const setAside = await waiting().orderBy('offset').execute();
    const [first, ...others] = [...new Set(setAside.map(describePlace))];
    const requeuing = { reason: null, clock: Date.now, timeoutMs: 15_000, signal: quiet.signal };
    const { topic = '', partition = 0, offset = 0 } = setAside[0] ?? {};
    await requeueEvents(world, { ...requeuing, place: { topic, partition, offset } });
    expect([first, others.length > 1]).toEqual([describePlace({ topic, partition, offset }), true]);
    const left = await waiting().execute();

    const { report } = await replayProjections(world, projections, quiet);
    expect(report).toMatchObject({ outcome: 'equal', differences: [] });
    expect(await waiting().execute()).toHaveLength(left.length);
    await requeueEvents(world, { ...requeuing, place: null });
    expect(await db.selectFrom('steps').select('stepId').execute()).toHaveLength(3);
    expect((await replayProjections(world, projections, quiet)).report).toMatchObject({ outcome: 'equal', differences: [] });
    expect(await waiting().execute()).toEqual([]);
    await runner.close();
  });

  test('the replay works while events are appended and folded', async () => {
    await givenWalks();
    const more = new EventBuilder('more');
    const tree = more.tree(more.run('more'), 'c');
    const runner = await runProjections({ log: world.log, database: world.database });
    let writing = true;
    const writer = (async () => {
      for (let ordinal = 0; writing && ordinal < 50; ordinal++) {
        const from = ordinal === 0 ? 0 : more.events.length;
        more.walk(tree, ordinal, 3, 1);
        await world.append(more.events.slice(from));
      }
    })();
    const { report } = await replayProjections(world, [registered('step-tree'), registered('rewards')], quiet);
    writing = false;
    await writer;
    await runner.close();
    expect(report).toMatchObject({ outcome: 'equal', differences: [] });
  });
});

async function leftovers(): Promise<object> {
  const { rows } = await sql<object>`
    select (select count(*)::int from projection_builds) as builds,
           (select count(*)::int from cursors where projection like '%@%') as cursors,
           (select count(*)::int from pg_namespace where nspname ~ '_v\\d{7}') as schemas`.execute(world.database.db);
  return rows[0] ?? {};
}
