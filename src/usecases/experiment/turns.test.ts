import { expect, test } from '@jest/globals';
import { openTurns } from './stages/stage-work.ts';

test('works of one name are done one after another, also behind one that fails; other names do not wait', async () => {
  const turns = openTurns();
  const said: string[] = [];
  let finish: () => void = () => undefined;
  const waiting = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const first = turns('a', async () => {
    said.push('first begins');
    await waiting;
    said.push('first ends');
    throw new Error('broken');
  });
  const second = turns('a', async () => said.push('second'));
  await turns('b', async () => said.push('other'));
  finish();
  await expect(first).rejects.toThrow('broken');
  await second;
  expect(said).toEqual(['first begins', 'other', 'first ends', 'second']);
});
