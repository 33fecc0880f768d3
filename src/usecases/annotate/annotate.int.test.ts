import { beforeAll, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Principal } from '../../postgres/principal.ts';
import { localPrincipal } from '../../postgres/principal.ts';
import { readAnnotationsById } from '../../projections/annotations/read-annotations.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { type Annotate, type AnnotateReply, type AnnotateRequest, type NewAnnotation, openAnnotate } from './annotate.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const key = (name: string, scopes: Principal['scopes'], project = 'atlas'): Principal => ({
  principal: `key:${name}`,
  projects: [project],
  project,
  scopes,
  keyId: name,
  name,
});
const reviewer = key('reviewer', ['read', 'annotate']);
const builder = new EventBuilder('annotate');
const runId = builder.run();
const tree = builder.tree(runId);
const walked = builder.walk(tree, 0, 2, 1);
const stepId = walked.steps[0] ?? '';
const other = builder.tree(runId, 'other');

let annotate: Annotate;
beforeAll(async () => {
  const stamp = { principal: 'key:collector', project: 'atlas' } as const;
  await platform.log.append(await prepareEvents(builder.events, platform.blobs, stamp));
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  annotate = openAnnotate(platform);
});

const said = { label: null, score: null, note: '' };
const ofStep = (overrides: Partial<NewAnnotation> = {}): AnnotateRequest => ({
  kind: 'add',
  annotations: [{ subject: { kind: 'step', stepId }, ...said, label: 'bad', ...overrides }],
});
const retract = (ids: readonly string[]): AnnotateRequest => ({ kind: 'retract', ids, reason: 'wrong' });
const recorded = (annotated: AnnotateReply) => {
  if (annotated.kind !== 'recorded') throw new Error(annotated.message);
  return annotated;
};
const read = async (ids: readonly string[]) => readAnnotationsById(platform.database.db, ids);

describe('annotating', () => {
  test('an annotation is an event of the tree, by who asks, in the project of the run, and can be read at once', async () => {
    const { ids, position } = recorded(await annotate(ofStep({ score: 0.5, note: 'é' }), reviewer));
    expect(position).toMatch(/^trees\.\d+:\d+$/);
    const { db } = platform.database;
    expect(await read(ids)).toMatchObject([{ treeId: tree.treeId, runId, stepId, label: 'bad', principal: 'key:reviewer' }]);
    await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 }); // the journal, too
    const [event] = await db
      .selectFrom('events')
      .selectAll()
      .where('eventId', '=', ids[0] ?? '')
      .execute();
    expect(event).toMatchObject({ type: 'AnnotationAdded', stream: tree.treeId });
    expect(JSON.parse(String(event?.body))).toMatchObject({ principal: 'key:reviewer', project: 'atlas' });
  });

  test('events of two processes that annotate one tree are numbered without a gap', async () => {
    const second = openAnnotate(platform);
    for (const by of [annotate, second, annotate]) recorded(await by(ofStep(), reviewer));
    expect(await platform.database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
  });

  test('a repetition under its own id is recorded once, and the id of another annotation is refused', async () => {
    const id = builder.id('own');
    recorded(await annotate(ofStep({ id }), reviewer));
    expect(await annotate(ofStep({ id }), reviewer)).toEqual({
      kind: 'recorded',
      ids: [id],
      treeIds: [tree.treeId],
      position: '',
    });
    expect(await annotate(ofStep({ id, label: 'good' }), reviewer)).toMatchObject({ kind: 'refused', code: 'conflict' });
  });

  test('an annotation whose id another key gives one of another tree is repeated and retracted as before', async () => {
    const id = builder.id('taken');
    const ofOther: AnnotateRequest = {
      kind: 'add',
      annotations: [{ id, subject: { kind: 'tree', treeId: other.treeId }, ...said, label: 'theirs' }],
    };
    const taker = key('taker', ['annotate']);
    const treeIds = [tree.treeId];
    recorded(await annotate(ofStep({ id }), reviewer));
    expect(recorded(await annotate(ofOther, taker))).toMatchObject({ ids: [id], treeIds: [other.treeId] });
    expect(recorded(await annotate(ofStep({ id }), reviewer))).toMatchObject({ treeIds, position: '' });
    expect(recorded(await annotate(ofOther, taker)).position).toBe('');
    expect(await annotate(retract([id]), key('third', ['annotate']))).toMatchObject({ code: 'forbidden' });
    expect(await annotate(retract([id]), localPrincipal())).toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(`annotation ${id} is ambiguous`),
    });
    expect(recorded(await annotate(retract([id]), reviewer))).toMatchObject({ treeIds });
    const named = { kind: 'retract', ids: [id], inTree: tree.treeId, reason: '' } as const;
    expect(recorded(await annotate(named, localPrincipal()))).toMatchObject({ treeIds, position: '' });
    const retracted = (await read([id])).map(({ treeId, retractedBy }) => [treeId, retractedBy]);
    expect(new Map(retracted as [string, string | null][])).toEqual(
      new Map([
        [tree.treeId, 'key:reviewer'],
        [other.treeId, null],
      ]),
    );
  });

  test('all of a call is recorded or nothing', async () => {
    const asked = ofStep();
    const none = { subject: { kind: 'rollout', rolloutId: builder.id('none') }, ...said, label: 'only here' } as const;
    const both = { kind: 'add', annotations: [...('annotations' in asked ? asked.annotations : []), none] } as const;
    const message = `no rollout ${builder.id('none')} is on record; nothing was recorded`;
    expect(await annotate(both, reviewer)).toEqual({ kind: 'refused', code: 'unknown', message });
    expect(
      await platform.database.db.selectFrom('annotations').select('label').where('label', '=', 'only here').execute(),
    ).toEqual([]);
  });

  test.each([
    ['nothing said', { label: null }, 'needs a label, a score or a note'],
    ['a label with a bidi override', { label: 'a‮b' }, 'label must hold no control or formatting characters'],
    ['a label of several lines', { label: 'a\nb' }, 'label must hold no control'],
    ['a long label', { label: 'x'.repeat(101) }, 'label Too big'],
    ['a long note', { note: 'x'.repeat(10_001) }, 'note Too big'],
    ['a score that no sum can hold', { score: 1e101 }, 'score must lie between'],
  ])('%s is refused in words', async (_, given, words) => {
    expect(await annotate(ofStep(given), reviewer)).toMatchObject({
      kind: 'refused',
      code: 'invalid',
      message: expect.stringContaining(words),
    });
  });

  test('a key without the scope is refused, and one of another project finds nothing', async () => {
    expect(await annotate(ofStep(), key('reader', ['read', 'judge', 'ingest']))).toEqual({
      kind: 'refused',
      code: 'forbidden',
      message: expect.stringContaining('annotating needs annotate: make a key'),
    });
    expect(await annotate(ofStep(), key('other', ['annotate'], 'other'))).toMatchObject({ kind: 'refused', code: 'unknown' });
  });

  test('an annotation is retracted by its author or an administrator, and a second retraction changes nothing', async () => {
    const { ids } = recorded(await annotate(ofStep(), reviewer));
    expect(await annotate(retract(ids), key('second', ['annotate']))).toMatchObject({ kind: 'refused', code: 'forbidden' });
    const { position } = recorded(await annotate(retract(ids), reviewer));
    expect(position).not.toBe('');
    expect(recorded(await annotate(retract(ids), localPrincipal())).position).toBe('');
    expect(await read(ids)).toMatchObject([{ retractedBy: 'key:reviewer', retractReason: 'wrong' }]);
    const more = recorded(await annotate(ofStep(), reviewer)).ids;
    recorded(await annotate(retract(more), localPrincipal()));
    expect(await read(more)).toMatchObject([{ retractedBy: 'local' }]);
  });
});
