import { expect, test } from '@jest/globals';
import { taskKind } from '../../domain/evaluation/task-kind.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'never' });

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

test('a task has the kind that its environment names, and one of ALFWorld without a name that of its alias or goal', async () => {
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
  const rows = await database.db.selectFrom('trees').select(['treeId', 'kind']).execute();
  const folded = new Map(rows.map(({ treeId, kind }) => [treeId, kind]));
  expect(folded.get(named)).toBe('boil');
  expect(trees.map((treeId) => folded.get(treeId))).toEqual([
    ...['pick_heat_then_place_in_recep', 'pick_and_place', 'pick_cool_then_place_in_recep', 'pick_two_obj_and_place'],
    ...['look_at_obj_in_light', 'pick_clean_then_place_in_recep', 'pick_and_place', null, null],
  ]);
  expect(TASKS.map(([environment, alias, goal]) => taskKind({ environment, alias, goal }))).toEqual(
    trees.map((treeId) => folded.get(treeId)),
  );
});
