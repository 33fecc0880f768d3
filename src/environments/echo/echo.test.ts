import { describe, expect, test } from '@jest/globals';
import { openEnvironment } from '../open-environment.ts';

describe('the echo environment', () => {
  test('the echo shows a character and rewards the same character in the answer, by degrees', async () => {
    const kind = await openEnvironment('echo');
    expect(kind.taskAliases).toEqual([...'0123456789']);
    for (const [answer, value] of [
      ['7', 1],
      [' 7\n', 1],
      ['71', 0.5],
      ['1', 0.1],
      ['seven', 0],
      ['', 0],
    ] as const) {
      const environment = await kind.create();
      expect(await environment.reset({ alias: '7', seed: 0 })).toMatchObject({ observation: '7', goal: 'say 7' });
      expect(await environment.expertAction?.()).toBe('7');
      const step = await environment.step(environment.parse(answer).action);
      expect(step).toMatchObject({ reward: { value }, success: value === 1, terminated: true });
      await expect(environment.step('7')).rejects.toMatchObject({ code: 'gone' });
    }
  });

  test('other characters make another world', async () => {
    const [digits, letters] = [await openEnvironment('echo'), await openEnvironment('echo:ab')];
    expect(letters.taskAliases).toEqual(['a', 'b']);
    expect(letters.fingerprint).not.toBe(digits.fingerprint);
    await expect((await letters.create()).reset({ alias: '7', seed: 0 })).rejects.toMatchObject({ code: 'unknown-task' });
    await expect(openEnvironment('echo:a')).rejects.toThrow('two or more');
  });
});
