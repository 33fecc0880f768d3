import { beforeAll, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { localPrincipal } from '../../postgres/principal.ts';
import { seedOf } from '../../projections/lineage/recall-seeds.ts';
import { readTouched } from '../../projections/lineage/recall-touched.ts';
import { selectTrees } from '../../projections/trajectories/select-trajectories.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { openAnnotate } from '../annotate/annotate.ts';
import { parseTrajectoryQuery } from '../datasets/export/parse-trajectory-query.ts';
import { score } from './score.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const builder = new EventBuilder('use annotations');
const runId = builder.run();
const tree = builder.tree(runId);
const [bad, good] = [builder.walk(tree, 0, 2, 1), builder.walk(tree, 1, 2, 1)];
builder.closeTree(tree, 2);
builder.finishRun(runId);
const { signal } = new AbortController();

const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });

beforeAll(async () => {
  await platform.log.append(await prepareEvents(builder.events, platform.blobs, platform.stamp));
  await settled();
  await say(bad.steps[0] ?? '', -1);
});

async function say(stepId: string, value: number): Promise<void> {
  const annotation = { subject: { kind: 'step', stepId }, label: 'bad', score: value, note: '' } as const;
  const said = await openAnnotate(platform)({ kind: 'add', annotations: [annotation] }, localPrincipal());
  expect(said.kind).toBe('recorded');
}

async function exported(filters: Parameters<typeof parseTrajectoryQuery>[0]): Promise<readonly string[]> {
  return platform.database.db.transaction().execute(async (trx) => {
    const found: string[] = [];
    for await (const { rollouts } of selectTrees(trx, parseTrajectoryQuery(filters)))
      found.push(...rollouts.map(({ rolloutId }) => rolloutId));
    return found;
  });
}

test('exports choose rollouts by the labels of their steps, and leave them out by them', async () => {
  expect(await exported({ labels: 'bad,worse' })).toEqual([bad.rolloutId]);
  expect(await exported({ withoutLabels: 'bad' })).toEqual([good.rolloutId]);
  expect(await exported({ labels: 'worse' })).toEqual([]);
});

test('a recall of a label touches what its annotations name, and one that nobody gave is refused', async () => {
  const { db } = platform.database;
  expect(await readTouched(db, await seedOf(db, { kind: 'label', label: 'bad' }))).toMatchObject({ rollouts: 1, trees: 1 });
  await expect(seedOf(db, { kind: 'label', label: 'none' })).rejects.toThrow('no annotation has the label "none"');
});

test('a scorer writes the mean score of a label, leaves other rollouts, and revises it when more is said', async () => {
  const asked = { runId, scorer: 'annotation@bad', component: 'human', environment: null, signal };
  expect(await score(platform, asked)).toMatchObject({ scorer: 'annotation@bad', assigned: 1, revised: 0 });
  await settled();
  expect(await score(platform, asked)).toMatchObject({ assigned: 0, revised: 0 });
  await say(bad.steps[1] ?? '', 0);
  expect(await score(platform, asked)).toMatchObject({ assigned: 0, revised: 1 });
  await settled();
  const rewards = await platform.database.db
    .selectFrom('rewards')
    .select(['rolloutId', 'value'])
    .where('component', '=', 'human')
    .execute();
  expect(rewards).toEqual([{ rolloutId: bad.rolloutId, value: -0.5 }]);
});
