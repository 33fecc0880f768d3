import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { taskKind } from '../../domain/evaluation/task-kind.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'never' });
const MIGRATION = new URL('../../../migrations/0037-task-kinds.sql', import.meta.url);

const TASKS = [
  ['alfworld', 'train/pick_heat_then_place_in_recep/3', 'heat some egg and put it in garbagecan.'],
  ['alfworld', 'json_2.1.1/train/pick_and_place_simple-Pen-None-Desk-1/trial_1/game.tw-pddl', ''],
  ['AlfWorld', '7', 'Your task is to: put a cool tomato in microwave.'],
  ['alfworld', '8', 'You are in a room.\nYour task is to: find two pencil and put them in shelf.'],
  ['alfworld', '9', 'examine the alarmclock with the desklamp.'],
  ['alfworld', '10', 'clean some soapbar and put it in cabinet.'],
  ['alfworld', '11', 'put some spraybottle on toilet.'],
  ['alfworld', '12', 'open the door'],
  ['textcraft', '13', 'put some spraybottle on toilet.'],
] as const;

test('an installation from before there were kinds holds, after its upgrade, those that a fold of its record yields', async () => {
  const builder = new EventBuilder('kinds');
  const run = builder.run();
  const opened = (environment: string, alias: string, goal: string, kind?: string) => {
    const task = {
      taskId: builder.id('task', alias),
      environment,
      serverFingerprint: 'w',
      observationHash: 'a'.repeat(64),
      alias,
      goal,
      depth: null,
      split: null,
      ...(kind === undefined ? {} : { kind }),
    };
    return builder.tree(run, alias, { task }).treeId;
  };
  const trees = TASKS.map(([environment, alias, goal]) => opened(environment, alias, goal));
  const named = opened('scienceworld', 'boil/3', 'Your task is to boil water.', 'boil');
  await givenEvents(database.db, builder.events);
  const read = async (table: string) => {
    const { rows } = await database.pool.query<{ tree_id: string; kind: string | null }>(`select tree_id, kind from ${table}`);
    return new Map(rows.map(({ tree_id, kind }) => [tree_id, kind]));
  };
  const folded = await read('trees');
  expect(folded.get(named)).toBe('boil');
  expect(trees.map((treeId) => folded.get(treeId))).toEqual([
    ...['pick_heat_then_place_in_recep', 'pick_and_place', 'pick_cool_then_place_in_recep', 'pick_two_obj_and_place'],
    ...['look_at_obj_in_light', 'pick_clean_then_place_in_recep', 'pick_and_place', null, null],
  ]);
  expect(TASKS.map(([environment, alias, goal]) => taskKind({ environment, alias, goal }))).toEqual(
    trees.map((treeId) => folded.get(treeId)),
  );

  // the tables of the live version and of a build next to it, as they were before
  const { pool } = database;
  await pool.query('alter table step_tree_v1.trees drop column kind cascade');
  await pool.query('create schema step_tree_v1_b2; create table step_tree_v1_b2.trees as table step_tree_v1.trees');
  const migration = await readFile(MIGRATION, 'utf8');
  await pool.query(migration);
  await pool.query(migration);
  const before = new Map([...folded].map(([treeId, kind]) => [treeId, treeId === named ? null : kind])); // no old record named one
  for (const table of ['trees', 'step_tree_v1.trees', 'step_tree_v1_b2.trees']) expect(await read(table)).toEqual(before);
  const { rows } = await pool.query("select schemaname from pg_indexes where indexname = 'trees_kind' order by 1");
  expect(rows).toEqual([{ schemaname: 'step_tree_v1' }, { schemaname: 'step_tree_v1_b2' }]);
});
