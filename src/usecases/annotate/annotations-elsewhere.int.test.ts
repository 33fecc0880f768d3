import { readFile, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { localPrincipal, type Principal } from '../../postgres/principal.ts';
import { readAnnotationsOfTrees } from '../../projections/annotations/read-annotations.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { datasetWorkshop } from '../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenPrepared } from '../../testing/projecting-log.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { forget, planForgetting } from '../forget/forget.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { openAnnotate } from './annotate.ts';

const signal = new AbortController().signal;
const reviewer: Principal = {
  principal: 'key:reviewer',
  keyId: 'reviewer',
  name: 'reviewer',
  scopes: ['read', 'annotate'],
  project: 'default',
  projects: ['default'],
};

describe('annotations in a file of events', () => {
  const shop = datasetWorkshop();
  const annotated = () => {
    const builder = new EventBuilder('exported');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const { steps, rolloutId } = builder.walk(tree, 0, 2, 1);
    const add = (name: string, subject: object, said: object) => {
      const annotationId = builder.id(name);
      const rest = { label: null, score: null, note: '', ...said };
      builder.record('AnnotationAdded', { annotationId, treeId: tree.treeId, subject: subject as never, ...rest }, runId);
      return annotationId;
    };
    add('of the step', { kind: 'step', stepId: steps[0] }, { label: 'bad', score: -1, note: '<b>é</b>' });
    add('of the rollout', { kind: 'rollout', rolloutId }, { note: 'only a note' });
    const wrong = add('of the tree', { kind: 'tree' }, { label: 'wrong tree' });
    builder.record('AnnotationRetracted', { annotationId: wrong, treeId: tree.treeId, reason: 'the other one' }, runId);
    return { builder, treeId: tree.treeId };
  };
  const of = (treeId: string) => readAnnotationsOfTrees(shop.db, [treeId]);

  test.each(['trajectories', 'trees'] as const)(
    'an import restores labels, scores and notes, and what was retracted stays so (%s)',
    async (scope) => {
      const { builder, treeId } = annotated();
      await givenPrepared(shop.db, builder.events, shop.blobs);
      const before = await of(treeId);
      expect(before.map(({ label, score, note }) => [label, score, note])).toEqual([
        ['bad', -1, '<b>é</b>'],
        [null, null, 'only a note'],
      ]);
      await shop.exportTo('source', { kind: 'jsonl', scope });
      await shop.startAgain();
      await shop.importing();
      expect(await of(treeId)).toEqual(before);
      const [retracted] = await shop.db
        .selectFrom('annotations')
        .select('retractReason')
        .where('label', '=', 'wrong tree')
        .execute();
      expect(retracted?.retractReason).toBe('the other one');
    },
  );

  test('the author of an imported annotation is who imports it, whatever author a line of the file names', async () => {
    const { builder, treeId } = annotated();
    await givenPrepared(shop.db, builder.events, shop.blobs);
    await shop.exportTo('source', { kind: 'jsonl', scope: 'trees' });
    const lines = (await readFile(shop.path('source'), 'utf8')).replaceAll(
      '"type":"AnnotationAdded"',
      '"principal":"key:somebody-else","project":"theirs","type":"AnnotationAdded"',
    );
    await writeFile(shop.path('source'), lines);
    await shop.startAgain();
    await shop.importing();
    expect((await of(treeId)).map(({ principal }) => principal)).toEqual(['local', 'local']);
  });
});

describe('annotations of a tree that is forgotten', () => {
  const platform = useTestPlatform({ opened: 'once', projector: 'running' });
  const builder = new EventBuilder('forgotten');
  const runId = builder.run();
  const [gone, kept] = ['gone', 'kept'].map((name) => {
    const tree = builder.tree(runId, name);
    builder.walk(tree, 0, 2, 1);
    return tree.treeId;
  }) as [string, string];
  builder.finishRun(runId);

  beforeAll(async () => {
    await setPayloadPolicy(platform.database.db, 'default', { seal: true });
    await platform.log.append(await prepareEvents(builder.events, platform.blobs, platform.stamp));
    await settled();
    const annotate = openAnnotate(platform);
    for (const treeId of [gone, kept]) {
      const said = { label: 'bad', score: 1, note: `SECRET of ${treeId}` };
      const added = await annotate({ kind: 'add', annotations: [{ subject: { kind: 'tree', treeId }, ...said }] }, reviewer);
      const again = await annotate(
        { kind: 'add', annotations: [{ subject: { kind: 'tree', treeId }, ...said, label: 'no' }] },
        reviewer,
      );
      if (added.kind !== 'recorded' || again.kind !== 'recorded') throw new Error(JSON.stringify([added, again]));
      await annotate({ kind: 'retract', ids: again.ids, reason: `SECRET reason of ${treeId}` }, localPrincipal());
    }
    await settled();
  });
  async function settled(): Promise<void> {
    await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
  }
  const verified = async () => (await verifyRecord(platform, { files: [], signal })).faults;
  const rows = (treeId: string) =>
    platform.database.db.selectFrom('annotations').selectAll().where('treeId', '=', treeId).orderBy('addedAt').execute();

  test('a record with annotations and retractions verifies, and a changed one is named', async () => {
    expect(await verified()).toEqual([]);
    const { pool } = platform.database;
    const [row] = await rows(kept);
    const changed = `update journal_v1.events e set body = replace(s.body, '"bad"', '"sad"') from events s
      where s.event_id = e.event_id and e.event_id = $1`;
    await pool.query(changed, [row?.annotationId]);
    expect(JSON.stringify(await verified())).toContain(row?.annotationId);
    await pool.query(changed.replace(`'"bad"', '"sad"'`, `'"sad"', '"bad"'`), [row?.annotationId]);
    expect(await verified()).toEqual([]);
  });

  test('its notes and reasons are in no read model any more, its labels are, and other trees keep theirs', async () => {
    const options = { by: 'tester', reason: 'asked for', signal, limitMs: 60_000, progress: () => undefined, blobGraceMs: 0 };
    await forget(platform, await planForgetting(platform, { kind: 'trees', ids: [gone] }), options);
    const of = (await rows(gone)).map(({ label, note, retractReason }) => ({ label, said: `${note} ${retractReason}` }));
    expect(of.map(({ label }) => label)).toEqual(['bad', 'no']);
    expect(of.filter(({ said }) => said.includes('SECRET'))).toEqual([]);
    expect((await rows(kept)).map(({ note, retractReason }) => [note, retractReason])).toEqual([
      [`SECRET of ${kept}`, null],
      [`SECRET of ${kept}`, `SECRET reason of ${kept}`],
    ]);
    expect(await verified()).toEqual([]);
  });
});
