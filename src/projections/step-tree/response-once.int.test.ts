import { readFile } from 'node:fs/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, testLog } from '../../testing/given-events.ts';
import { ends, NEVER, projectUpTo, useAsOf } from '../as-of/as-of-testing.ts';

const asOf = useAsOf();
const MIGRATION = new URL('../../../migrations/0043-smaller-steps.sql', import.meta.url);
const SAID = [
  ['go north', 'go north'],
  ['Thought: there.\nAction: go north', 'go north'],
  ['', ''],
  ['go north ', 'go north'],
] as const;

let builder: EventBuilder;
beforeEach(() => {
  builder = new EventBuilder('said once');
});

/** Records steps that say these, and folds them. Returns the log. */
async function givenSteps(name: string, log = testLog()) {
  const from = builder.events.length;
  const tree = builder.tree(builder.run(name), name);
  const rolloutId = builder.rollout(tree);
  let parent = tree.rootStepId;
  for (const [i, [response, action]] of SAID.entries())
    parent = builder.step(tree, rolloutId, parent, i + 1, { response, action });
  appendTo(log, builder.events.slice(from));
  await projectUpTo(asOf.live.db, log, ends(log));
  return log;
}

const query = async (text: string) => (await asOf.live.pool.query(text)).rows;
const said = (table: string) =>
  query(`select s.response, s.action, s.response_is_action as once from ${table} s where s.depth > 0 order by s.log_offset`);
const shown = SAID.map(([response, action]) => ({ response, action, once: false }));
const kept = [{ response: '', action: 'go north', once: true }, ...shown.slice(1)];

test('a response that is the action to the letter lies in its row once, and everyone reads both', async () => {
  const log = await givenSteps('a');
  expect(await said('steps')).toEqual(shown);
  expect(await said('step_tree_v1.steps')).toEqual(kept);
  const { db, release } = await asOf.snapshots.at({ kind: 'position', position: ends(log) }, 'all', NEVER);
  const rows = await db.selectFrom('steps').select(['response', 'action']).where('depth', '>', 0).orderBy('logOffset').execute();
  expect(rows).toEqual(SAID.map(([response, action]) => ({ response, action })));
  release();
});

test('an installation from before keeps its rows as they are, and shows them next to those that come', async () => {
  await query('drop view step_tree_v1.steps_shown cascade');
  await query('alter table step_tree_v1.steps drop column response_is_action');
  await query(`create view public.steps as select * from step_tree_v1.steps`);
  await query(`create schema step_tree_v1_b2; create table step_tree_v1_b2.steps as table step_tree_v1.steps`);
  const migration = await readFile(MIGRATION, 'utf8');
  await query(migration);
  await query(migration);
  await givenSteps('a');
  expect(await said('steps')).toEqual(shown);
  expect(await said('step_tree_v1.steps')).toEqual(kept);
  await query('insert into step_tree_v1_b2.steps select * from public.steps'); // as the release before writes them
  expect(await said('step_tree_v1_b2.steps_shown')).toEqual(shown);
});
