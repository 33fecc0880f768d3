import { expect, test } from '@jest/globals';
import { alfworldTaskType } from './task-kind.ts';

test.each([
  [
    'json_2.1.1/train/pick_heat_then_place_in_recep-Egg-None-GarbageCan-10/trial_1/game.tw-pddl',
    '',
    'pick_heat_then_place_in_recep',
  ],
  ['valid_seen/pick_and_place_simple-Pen-None-Desk-1', '', 'pick_and_place'],
  ['valid_seen/pick_two_obj_and_place-Pen-None-Desk-1', '', 'pick_two_obj_and_place'],
  ['7', 'Your task is to: put a cool tomato in microwave.', 'pick_cool_then_place_in_recep'],
  ['7', 'Your task is to: clean some soapbar and put it in cabinet.', 'pick_clean_then_place_in_recep'],
  ['7', 'Your task is to: examine the alarmclock with the desklamp.', 'look_at_obj_in_light'],
  ['7', 'Your task is to: find two pencil and put them in shelf.', 'pick_two_obj_and_place'],
  ['7', 'put some spraybottle on toilet.', 'pick_and_place'],
  ['7', 'heat some egg and put it in garbagecan.', 'pick_heat_then_place_in_recep'],
  ['7', 'open the door', null],
])('the game %s with the goal %j has the task type %s', (alias, goal, type) => {
  expect(alfworldTaskType({ alias, goal })).toBe(type);
});
