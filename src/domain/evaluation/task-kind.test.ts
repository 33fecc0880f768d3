import { expect, test } from '@jest/globals';
import { taskKind } from './task-kind.ts';

test.each([
  [{ environment: 'scienceworld', alias: 'boil/3', goal: 'boil water', kind: 'boil' }, 'boil'],
  [{ environment: 'alfworld', alias: 'train/pick_two_obj_and_place/0', goal: '', kind: 'mine' }, 'mine'],
  [{ environment: 'alfworld', alias: 'train/pick_and_place_simple/0', goal: 'put a pen on desk' }, 'pick_and_place'],
  [{ environment: 'AgentGym-AlfWorld', alias: '7', goal: 'examine the pen with the desklamp' }, 'look_at_obj_in_light'],
  [{ environment: 'alfworld', alias: '7', goal: 'open the door' }, null],
  [{ environment: 'textcraft', alias: '7', goal: 'put a pen on desk' }, null],
])('the task %j has the kind %s', (task, kind) => {
  expect(taskKind(task)).toBe(kind);
});
