import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { serverSampling } from '../../domain/prompts/policy-prompt.ts';
import { newId } from '../../events/new-id.ts';
import { blockDigest, promptDigest } from '../../events/prompt-digest.ts';
import { createKey, type NewKey } from '../../postgres/keys.ts';
import type { EventBuilder } from '../../testing/event-builder.ts';
import { openTestApi, type TestApi } from '../http-testing.ts';
import { DrawnBuilder, refused } from './ingest-testing.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ api: { catchUpMs: 60_000 } }); // a machine that runs other tests too may fold slowly
  await api.project();
});
afterAll(() => api.close());

type Headers = Record<string, string>;
async function keyOf(project: string, scopes: NewKey['scopes'] = ['ingest']): Promise<Headers> {
  const { key } = await createKey(api.database.db, { name: 'tester', scopes, projects: [project] });
  return { authorization: `Bearer ${key}` };
}

/** A run with a rewarded rollout, an open one and an annotation, as the read models have it. */
async function given(builder: EventBuilder, headers: Headers) {
  const runId = builder.run();
  const tree = builder.tree(runId);
  const { rolloutId, steps } = builder.walk(tree, 0, 2, 0);
  const leaf = steps.at(-1) ?? '';
  const rewardId = builder.reward(tree, leaf, 0.5, { rolloutId });
  const open = builder.rollout(tree, 1);
  const made = { builder, headers, runId, tree, rolloutId, leaf, rewardId, open, annotationId: newId() };
  annotate(made, made);
  await post(made);
  return made;
}
type Given = Awaited<ReturnType<typeof given>>;

async function post({ builder, headers }: Given): Promise<void> {
  const answer = await api.post(builder.events, headers);
  expect(answer.status).toBe(200);
  await api.projected(answer.body.position ?? '');
}

function annotate({ builder, tree, runId, leaf }: Given, { annotationId }: Pick<Given, 'annotationId'>): void {
  const subject = { kind: 'step', stepId: leaf } as const;
  const said = { annotationId, treeId: tree.treeId, subject, label: 'good', score: null, note: '' };
  builder.record('AnnotationAdded', said, runId);
}
function retract({ builder, tree, runId }: Given, { annotationId }: Pick<Given, 'annotationId'>): void {
  builder.record('AnnotationRetracted', { annotationId, treeId: tree.treeId, reason: '' }, runId);
}
function capture({ builder, tree, runId, rolloutId }: Given, stepId: string | null, callId = newId()): void {
  const { treeId, rootStepId: parentStepId } = tree;
  builder.record(
    'CallCaptured',
    {
      callId,
      treeId,
      rolloutId,
      ordinal: 0,
      parentStepId,
      stepId,
      place: 'path',
      source: 'trace',
      api: 'responses',
      outcome: 'answered',
      status: null,
      message: '',
      prompt: null,
      choices: [],
      call: null,
      timings: { firstMs: null, totalMs: 1 },
    },
    runId,
  );
}
function showJudge({ builder, tree, runId }: Given, judgementId: string): void {
  builder.record(
    'PromptShown',
    {
      treeId: tree.treeId,
      stepId: tree.rootStepId,
      judgementId,
      base: null,
      blocks: ['forged'],
      messages: [{ role: 'user', parts: [{ kind: 'text', blocks: [blockDigest('forged')] }] }],
      sha256: promptDigest([{ role: 'user', parts: [{ kind: 'text', text: 'forged' }] }]),
      sampling: serverSampling(1),
      template: null,
      tools: null,
      server: null,
      tokens: null,
    },
    runId,
  );
}

/** What is trained and shown of a tree. */
async function shownOf({ rolloutId, open, rewardId, annotationId, tree }: Given) {
  const { rows } = await sql<Record<string, unknown>>`
    select (select jsonb_agg(s order by s.rollout_id) from samples s
             where s.tree_id = ${tree.treeId} and s.rollout_id in (${rolloutId}, ${open})) as samples,
           (select jsonb_agg(s order by s.step_id) from sample_steps s
             where s.tree_id = ${tree.treeId} and s.rollout_id in (${rolloutId}, ${open})) as steps,
           (select jsonb_agg(r) from sample_rewards r
             where r.tree_id = ${tree.treeId} and r.reward_id = ${rewardId}) as rewards,
           (select jsonb_agg(w) from rewards w where w.tree_id = ${tree.treeId}) as judged,
           (select jsonb_agg(v) from returns v where v.tree_id = ${tree.treeId}) as returns,
           (select jsonb_agg(n order by n.step_id) from node_statistics n where n.tree_id = ${tree.treeId}) as nodes,
           (select jsonb_agg(a) from annotations a
             where a.tree_id = ${tree.treeId} and a.annotation_id = ${annotationId}) as annotations,
           (select count(*) from quarantine) as quarantined`.execute(api.database.db);
  return rows;
}

const revise = ({ builder, tree, runId }: Given, rewardId: string) =>
  builder.record(
    'RewardRevised',
    { rewardId, treeId: tree.treeId, value: -1_000, scorer: { name: 'x', revision: '1' }, reason: '' },
    runId,
  );

/** What a key records in its own tree under an id of another, and says of it. */
const ATTACKS: readonly (readonly [string, (mine: Given, other: Given) => void])[] = [
  [
    'a rollout, which is rewarded',
    ({ builder, tree }, { rolloutId }) => {
      builder.rollout(tree, 5, { rolloutId });
      builder.reward(tree, null, 50, { rolloutId });
    },
  ],
  [
    'a rollout, which takes steps and ends',
    ({ builder, tree }, { open }) => {
      builder.rollout(tree, 5, { rolloutId: open });
      builder.finishRollout(tree, open, builder.step(tree, open, tree.rootStepId, 1), { success: false, outcome: 'failed' });
    },
  ],
  [
    'a step, which is rewarded',
    ({ builder, tree }, { leaf }) => {
      builder.step(tree, null, tree.rootStepId, 1, { stepId: leaf });
      builder.reward(tree, leaf, 50);
    },
  ],
  [
    'a step, whose value is backed up',
    ({ builder, tree, runId }, { leaf }) => {
      builder.step(tree, null, tree.rootStepId, 1, { stepId: leaf });
      const path = [tree.rootStepId, leaf];
      builder.record('ValueBackedUp', { treeId: tree.treeId, simulation: 0, leafStepId: leaf, value: -9, path }, runId);
    },
  ],
  [
    'a root, which is rewarded',
    ({ builder, runId }, { leaf }) => {
      const tree = builder.tree(runId, 'second', { rootStepId: leaf });
      builder.reward(tree, leaf, 50);
    },
  ],
  [
    'the step of a call, which is rewarded',
    (mine, { leaf }) => {
      capture(mine, leaf);
      mine.builder.step(mine.tree, null, mine.tree.rootStepId, 1, { stepId: leaf });
      mine.builder.reward(mine.tree, leaf, 50);
    },
  ],
  [
    'a reward, which is revised',
    (mine, { rewardId }) => {
      mine.builder.reward(mine.tree, mine.leaf, 0, { rewardId });
      revise(mine, rewardId);
    },
  ],
  ['an annotation', (mine, other) => annotate(mine, other)],
];

test.each(ATTACKS)(
  '%s under an id that another tree has is of its own tree, and changes nothing of the other',
  async (_, attack) => {
    const other = await given(new DrawnBuilder(), await keyOf('theirs'));
    const mine = await given(new DrawnBuilder(), await keyOf('mine'));
    const before = await shownOf(other);
    const seen = mine.builder.events.length;
    attack(mine, other);
    const answer = await api.post(mine.builder.events.slice(seen), mine.headers);
    expect(answer).toMatchObject({ status: 200, body: { appended: mine.builder.events.length - seen } });
    await api.projected(answer.body.position ?? '');
    expect(await shownOf(other)).toEqual(before);
    await post(other); // a repetition of its owner is none
  },
);

test('a judgement is given the id of no step, whose prompt would be that of the judgement', async () => {
  const other = await given(new DrawnBuilder(), await keyOf('theirs'));
  const judge = { ...other, headers: await keyOf('theirs', ['judge']) };
  const seen = other.builder.events.length;
  showJudge(judge, other.leaf);
  await refused(api, () => api.post(judge.builder.events.slice(seen), judge.headers), 409, { path: 'data.judgementId' });
});

test('an annotation of another key is not retracted by who adds it again', async () => {
  const other = await given(new DrawnBuilder(), await keyOf('theirs'));
  const annotator = { ...other, headers: await keyOf('theirs', ['annotate']) };
  const before = await shownOf(other);
  const seen = other.builder.events.length;
  annotate(annotator, other);
  retract(annotator, other);
  await refused(api, () => api.post(annotator.builder.events.slice(seen), annotator.headers), 403, {
    path: 'data.annotationId',
  });
  expect(await shownOf(other)).toEqual(before);
});
