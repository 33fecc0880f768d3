import { beforeAll, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Principal } from '../../postgres/principal.ts';
import { readAnnotationsOfTrees } from '../../projections/annotations/read-annotations.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { type Annotate, type AnnotateReply, openAnnotate } from './annotate.ts';
import type { NewFeedback } from './feedback.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const builder = new EventBuilder('feedback');
const runId = builder.run();
const tree = builder.tree(runId);
const walked = builder.walk(tree, 0, 2, 1);
const [first = '', leaf = ''] = walked.steps;
const traced = builder.tree(runId, TRACE, { task: { ...taskOf(), alias: TRACE } });
const tracedRollout = builder.rollout(traced, 0);
const span = {
  spanId: builder.id('span'),
  treeId: traced.treeId,
  rolloutId: tracedRollout,
  run: 'run',
  task: TRACE,
  rollout: TRACE,
  kind: 'model',
  endsRollout: false,
  startMs: 1,
  span: '{}',
} as const;
builder.record('SpanReceived', span, runId);
const alike = builder.step(traced, null, traced.rootStepId, 1, { call: { ...callOf(), responseId: 'chatcmpl-alike' } });
builder.step(traced, null, traced.rootStepId, 1, { call: { ...callOf(), responseId: 'chatcmpl-alike' } });
const replied = builder.step(traced, tracedRollout, traced.rootStepId, 1, { call: callOf() });
const UUID_OF_REPLY = '0190f2a4-7c1e-7b3a-9d55-3f6c2b1a0e9f';
const underUuid = builder.step(traced, tracedRollout, replied, 2, { call: { ...callOf(), responseId: UUID_OF_REPLY } });
function callOf() {
  return {
    responseId: 'chatcmpl-7',
    model: 'm',
    requestHash: 'b'.repeat(64),
    attempts: 1,
    latencyMs: 1,
    usage: null,
    trimmed: null,
  };
}

const datasetId = builder.id('dataset');
const sha256 = 'e'.repeat(64);
const frozen = {
  format: 'xtuner',
  formatVersion: 1,
  bytes: 1,
  sha256,
  codeVersion: '1',
  runs: [runId],
  query: {},
  parameters: {},
};
const release = { datasetId, name: 'd', version: 1, ...frozen, counts: { lines: 1 }, position: { 'step-tree@1': 'trees.0:1' } };
builder.record('DatasetReleased', release, datasetId);
const example = { line: 1, lines: 1, kind: 'good', treeId: tree.treeId, badRolloutId: null, revisionId: null } as const;
const examples = [{ ...example, goodRolloutId: walked.rolloutId }];
builder.record('DatasetSourced', { datasetId, sha256, part: 0, examples }, datasetId);

function taskOf() {
  const template = new EventBuilder('template');
  template.tree(template.run());
  const opened = template.events.find((event) => event.type === 'TreeOpened');
  if (opened?.type !== 'TreeOpened') throw new Error('the builder opened no tree');
  return opened.data.task;
}

const judge: Principal = {
  principal: 'key:judge',
  projects: ['atlas'],
  project: 'atlas',
  scopes: ['judge', 'annotate'],
  keyId: 'judge',
  name: 'judge',
};

let annotate: Annotate;
beforeAll(async () => {
  const stamp = { principal: 'key:collector', project: 'atlas' } as const;
  await platform.log.append(await prepareEvents(builder.events, platform.blobs, stamp));
  await settled();
  annotate = openAnnotate(platform);
});

async function settled(): Promise<void> {
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
}

const say = async (...feedback: readonly Partial<NewFeedback>[]): Promise<AnnotateReply> => {
  const whole = feedback.map((each) => ({ of: first, value: 1, component: 'quality', by: 'person:anna', comment: '', ...each }));
  const annotated = await annotate({ kind: 'feedback', feedback: whole }, judge);
  await settled();
  return annotated;
};
const rewardsOf = (component: string) =>
  platform.database.db
    .selectFrom('rewards')
    .select(['stepId', 'rolloutId', 'value', 'assignedValue', 'scorer', 'scorerRevision', 'revisions'])
    .where('component', '=', component)
    .orderBy('value')
    .execute();

describe('feedback after the fact', () => {
  test('is a reward of a step with its rollout, of a rollout, of a reply by the id of its server, also a UUID, and of a trace', async () => {
    expect(
      await say(
        { of: first, component: 'named' },
        { of: walked.rolloutId, component: 'named', value: 2 },
        { of: 'chatcmpl-7', component: 'named', value: 3 },
        { of: TRACE, component: 'named', value: 4 },
        { of: UUID_OF_REPLY, component: 'named', value: 5 },
      ),
    ).toMatchObject({ kind: 'recorded' });
    expect((await rewardsOf('named')).map(({ stepId, rolloutId, value }) => [stepId, rolloutId !== null, value])).toEqual([
      [first, true, 1],
      [null, true, 2],
      [replied, true, 3],
      [null, true, 4],
      [underUuid, true, 5],
    ]);
  });

  test('a second value revises the first, whoever gave it, and tells people, programs and judges apart', async () => {
    await say({ value: 0.5 });
    await say({ value: 0.25, by: 'judge:qwen@3', comment: 'too long' });
    expect(await rewardsOf('quality')).toEqual([
      expect.objectContaining({ value: 0.25, assignedValue: 0.5, scorer: 'judge:qwen', scorerRevision: '3', revisions: 1 }),
    ]);
    const [note] = await readAnnotationsOfTrees(platform.database.db, [tree.treeId]);
    expect(note).toMatchObject({ stepId: first, score: 0.25, note: 'too long', principal: 'key:judge' });
  });

  test('the reward of the environment is revised in its place', async () => {
    await say({ of: leaf, component: 'environment', value: 0.125, by: 'program:checker@2' });
    const [row] = (await rewardsOf('environment')).filter(({ stepId }) => stepId === leaf);
    expect(row).toMatchObject({ assignedValue: 1, value: 0.125, scorer: 'program:checker' });
  });

  test('the same again is recorded once', async () => {
    const once = await say({ component: 'once', comment: 'so it is' });
    expect(await say({ component: 'once', comment: 'so it is' })).toEqual({ ...once, position: '' });
  });

  test('of a row it is an annotation under the component, and a second value takes the place of the first', async () => {
    const row = { of: { datasetId, line: 1 }, component: 'useful', by: 'judge:qwen@3' };
    await say({ ...row, value: 0.5 });
    await say({ ...row, value: 0.75, comment: 'after all' });
    expect(await say({ ...row, value: 0.75, comment: 'after all' })).toMatchObject({ position: '' });
    const { db } = platform.database;
    const said = await db.selectFrom('annotations').selectAll().where('label', '=', 'useful').orderBy('score').execute();
    expect(said.map(({ line, score, note, retractedAt }) => [line, score, note, retractedAt === null])).toEqual([
      [1, 0.5, 'judge:qwen@3', false],
      [1, 0.75, 'judge:qwen@3: after all', true],
    ]);
  });

  test.each([
    ['nothing of the id', { of: builder.id('none') }, 'unknown', 'is on record (a captured reply is, once'],
    ['a name that nothing has', { of: 'chatcmpl-none' }, 'unknown', 'no step, rollout, reply or trace chatcmpl-none'],
    ['nobody who says it', { by: 'anna' }, 'invalid', 'by is "anna"; give person:NAME'],
    ['a value that no sum can hold', { value: 1e101 }, 'invalid', 'value must lie between'],
    ['a row that is none', { of: { datasetId: builder.id('none'), line: 1 } }, 'unknown', 'no row 1 of dataset'],
  ] as const)('%s is refused in words, and nothing of the call is recorded', async (_, given, code, words) => {
    const message = expect.stringContaining(words);
    expect(await say({ component: 'all or none' }, { component: 'refused', ...given })).toMatchObject({
      kind: 'refused',
      code,
      message,
    });
    expect(await rewardsOf('all or none')).toEqual([]);
  });

  test('two values of one thing are refused, also under two of its ids', async () => {
    const twice = await say({ of: replied, component: 'twice' }, { of: 'chatcmpl-7', component: 'twice', value: 2 });
    expect(twice).toMatchObject({ code: 'invalid', message: expect.stringContaining('chatcmpl-7 has two values') });
    expect(await rewardsOf('twice')).toEqual([]);
  });

  test('an id that two things of one tree have is refused with a way out, and the name of a task is no trace', async () => {
    const given = { of: 'chatcmpl-alike', component: 'alike' };
    const message = expect.stringContaining(`2 things in one tree, ${traced.treeId}, have it; name the step`);
    for (const inTree of [{}, { inTree: traced.treeId }])
      expect(await say({ ...given, ...inTree })).toMatchObject({ code: 'invalid', message });
    expect(await say({ ...given, of: alike })).toMatchObject({ kind: 'recorded' });
    expect(await say({ ...given, of: 'tree' })).toMatchObject({ code: 'unknown' });
  });

  test('a key needs both scopes, and one of another project finds nothing', async () => {
    const feedback = [{ of: first, value: 1, component: 'quality', by: 'person:anna', comment: '' }];
    const asked = { kind: 'feedback', feedback } as const;
    expect(await annotate(asked, { ...judge, scopes: ['annotate'] })).toMatchObject({ code: 'forbidden' });
    expect(await annotate(asked, { ...judge, projects: ['other'], project: 'other' })).toMatchObject({ code: 'unknown' });
  });
});
