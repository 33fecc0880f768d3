import { describe, expect, test } from '@jest/globals';
import { fitJudgeLog, judgePrompt, judgeSlots } from './judge-prompt.ts';
import { leafPaths } from './pair-paths.ts';
import { plant } from './revision-testing.ts';

const steps = leafPaths(plant([{ words: 'abc', shared: 0, score: 0 }]))[0]?.steps ?? [];

describe('a question to the judge', () => {
  test('the question shows the task, the earlier steps and the step to judge, by its action without the thought', () => {
    expect(judgeSlots('TASK', steps, 2)).toEqual({
      taskDescription: 'TASK',
      log: 'Action: act a\nObservation: obs a\nAction: act b\nObservation: obs b',
      action: 'act c',
      observation: 'obs c',
    });
    expect(() => judgeSlots('TASK', steps, 3)).toThrow(RangeError);
  });

  test('the question is one user message with the log between task and current step, and without an empty line if there is no log', () => {
    const messages = judgePrompt(judgeSlots('TASK', steps, 1));
    expect(messages).toEqual([{ role: 'user', content: expect.any(String) }]);
    expect(messages[0]?.content).toContain(
      'Log:\nTask Description: TASK\nAction: act a\nObservation: obs a\nCurrent_Action: act b\nCurrent_Observation: obs b\n',
    );
    expect(judgePrompt(judgeSlots('TASK', steps, 0))[0]?.content).toContain('Task Description: TASK\nCurrent_Action: act a\n');
  });

  test('a log that is too long loses whole steps, the oldest first', () => {
    expect(fitJudgeLog('TASK', steps, 2, 12)).toMatchObject({ leftOut: 0, slots: judgeSlots('TASK', steps, 2) });
    expect(fitJudgeLog('TASK', steps, 2, 11)).toMatchObject({
      leftOut: 1,
      slots: { log: 'Action: act b\nObservation: obs b', action: 'act c' },
    });
    expect(fitJudgeLog('TASK', steps, 2, 0)).toMatchObject({ leftOut: 2, slots: { log: '' } });
  });
});
