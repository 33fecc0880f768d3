import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestWorld, type TestWorld } from '../../testing/open-test-log.ts';
import { readModels } from '../../testing/read-models.ts';
import { recordBushyRun } from '../../testing/record-bushy-run.ts';
import { rebuildProjection, retireVersions } from '../../usecases/rebuild/rebuild-projection.ts';
import { projections } from '../registry.ts';
import { runProjections } from '../runner.ts';
import { FoldThreadEnded, type Threads } from './fold-in-threads.ts';
import { readBuilds } from './read-builds.ts';

const PARTITIONS = 4;
const CHOICES = Array.from({ length: 30 }, (_, i) => (i * 7) % 60);
let world: TestWorld;
const quiet = { signal: new AbortController().signal, progress: () => undefined, limitMs: 60_000, differing: 'refuse' } as const;

beforeEach(async () => {
  world = await openTestWorld(PARTITIONS);
  await givenRecord();
});
afterEach(() => world.close());

const named = (name: string) => {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`there is no projection ${name}`);
  return found;
};

function threads(program?: string): Threads {
  const { url } = world;
  const source = { databaseUrl: url, log: { kind: 'embedded', url, directUrl: url }, masterKeyFile: null } as const;
  return { ...source, threads: 2, from: 1, ...(program ? { program } : {}) };
}

/**
 * Trees in every partition, and a run with events of most other types; on the way events came twice, never, too late for their
 * epoch, or changed, and bytes that are none, or events of a type or version that nobody knows.
 */
async function givenRecord(): Promise<void> {
  const builder = new EventBuilder('threads');
  const runId = builder.run();
  for (let i = 0; i < 12; i++) {
    const tree = builder.tree(runId, `tree ${i}`);
    for (let ordinal = 0; ordinal < 3; ordinal++) builder.walk(tree, ordinal, 4, ordinal);
  }
  const index = builder.events.findIndex(({ type }) => type === 'StepTaken');
  const changed = builder.events.filter(({ type }) => type === 'StepTaken').at(-1) as Envelope<'StepTaken'>;
  const other = { ...changed, data: { ...changed.data, parentStepId: changed.data.stepId } };
  const { stream, sequence } = changed;
  const resumed = builder.record('TreeResumed', { treeId: stream, runId, epoch: 2 }, runId);
  const late = { ...changed, epoch: 1, id: builder.id('late', stream), sequence: sequence + 1 };
  await world.append([
    ...builder.events.filter((event, i) => i !== index && event !== resumed),
    ...builder.events.slice(20, 30),
    other,
  ]);
  await world.append([resumed, late, ...recordBushyRun(CHOICES).events]);
  const unreadable = ['{"type":"StepTaken"', '{"type":"NeverRecorded"}', '{"type":"StepTaken","schemaVersion":99}'];
  for (const topic of TOPICS)
    for (let partition = 0; partition < PARTITIONS; partition++)
      await world.log.append(unreadable.map((text) => ({ topic, key: 'raw', partition, value: Buffer.from(text) })));
  const running = await runProjections({ log: world.log, database: world.database });
  await world.settled();
  await running.close();
}

async function foldingSessions(): Promise<number> {
  const { rows } = await world.database.pool.query(
    `select from pg_stat_activity where application_name = 'espalier fold' and datname = current_database()`,
  );
  return rows.length;
}

describe('a rebuild by threads', () => {
  test('a rebuild by threads of each projection comes to the rows and the quarantine of its live tables, with poison in every partition', async () => {
    for (const projection of projections) {
      const sessions: Promise<number>[] = [];
      const progress = () => void sessions.push(foldingSessions());
      const rebuilt = await rebuildProjection({ ...world, threads: threads() }, projection, { ...quiet, progress });
      expect(rebuilt).toMatchObject({ kind: 'swapped', comparison: { differences: [] } });
      const inThreads = Math.max(...(await Promise.all(sessions))) > 0;
      expect([projection.name, inThreads]).toEqual([projection.name, true]);
      await retireVersions(world, projection);
    }
    expect(await foldingSessions()).toBe(0);
    const poison = await world.database.db
      .selectFrom('quarantine')
      .select(({ fn }) => fn.countAll<number>().as('records'))
      .where('projection', '=', 'step-tree')
      .executeTakeFirstOrThrow();
    expect(poison.records).toBeGreaterThan(PARTITIONS);
  });

  test('a thread that dies fails the rebuild with the reason and leaves the live tables, and the next rebuild goes on', async () => {
    const dying = threads('src/testing/fold-thread-that-dies.ts');
    for (const projection of ['step-tree', 'search-statistics'].map(named)) {
      const before = await readModels(world.database.db);
      const failing = rebuildProjection({ ...world, threads: dying }, projection, quiet);
      await expect(failing).rejects.toThrow(FoldThreadEnded);
      await expect(failing).rejects.toThrow(
        `a thread that folds ${projection.name} ended: no memory is left; what is live stays as it is`,
      );
      expect(await readModels(world.database.db)).toEqual(before);
      expect(await foldingSessions()).toBe(0);
      expect(await readBuilds(world.database.db)).toMatchObject([{ projection: projection.name, state: 'building' }]);
      const rebuilt = await rebuildProjection({ ...world, threads: threads() }, projection, quiet);
      expect(rebuilt).toMatchObject({ kind: 'swapped', to: 1_000_000 + projection.version, comparison: { differences: [] } });
      await retireVersions(world, projection);
    }
  });

  test('a rebuild that is ended while threads fold leaves no thread, and the next one goes on to equal tables', async () => {
    const ended = new AbortController();
    const progress = () => ended.abort(new Error('asked to end'));
    const ending = rebuildProjection({ ...world, threads: threads() }, named('rewards'), {
      ...quiet,
      progress,
      signal: ended.signal,
    });
    await expect(ending).rejects.toThrow(/aborted|asked to end/);
    expect(await foldingSessions()).toBe(0);
    expect(await rebuildProjection({ ...world, threads: threads() }, named('rewards'), quiet)).toMatchObject({
      kind: 'swapped',
      comparison: { differences: [] },
    });
  });

  test('code that a thread would not find under its name is folded in the process, as is a small record', async () => {
    const stepTree = named('step-tree');
    const own = { ...stepTree, project: (...given: Parameters<typeof stepTree.project>) => stepTree.project(...given) };
    const dying = threads('src/testing/fold-thread-that-dies.ts'); // none is started
    expect(await rebuildProjection({ ...world, threads: dying }, own, quiet)).toMatchObject({ kind: 'swapped' });
    await retireVersions(world, stepTree);
    const { from: _, ...usual } = dying;
    expect(await rebuildProjection({ ...world, threads: usual }, stepTree, quiet)).toMatchObject({ kind: 'swapped' });
  });
});
