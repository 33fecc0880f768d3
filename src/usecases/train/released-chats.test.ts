import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { type ReleasedChat, readReleasedChats, spellActions } from './clone-release.ts';

let folder: string;
let kind: EnvironmentKind;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-chats-'));
  kind = await openEnvironment('textcraft');
});
afterAll(async () => {
  await kind.close();
  await rm(folder, { recursive: true });
});

const metadata = { kind: 'revision', task: { alias: '7', goal: 'g' }, tree: 't' };
const row = {
  messages: [
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'opening' },
    { role: 'assistant', content: 'Action: wrong', weight: 0 },
    { role: 'user', content: 'seen' },
    { role: 'assistant', content: 'Action: right', weight: 1 },
  ],
  metadata,
};

async function reading(text: string, sha256 = createHash('sha256').update(text).digest('hex')) {
  const path = join(folder, 'released.jsonl');
  await writeFile(path, text);
  return readReleasedChats(path, sha256);
}
const lines = (...rows: object[]) => rows.map((each) => `${JSON.stringify(each)}\n`).join('');

describe('readReleasedChats', () => {
  test('each example is read with its replies, their answers and whether they are trained on', async () => {
    expect(await reading(lines(row, { ...row, metadata: { ...metadata, kind: 'good' } }))).toEqual([
      {
        line: 1,
        kind: 'revision',
        alias: '7',
        firstObservation: 'opening',
        turns: [
          { response: 'Action: wrong', observation: 'seen', loss: false },
          { response: 'Action: right', observation: null, loss: true },
        ],
      },
      expect.objectContaining({ line: 2, kind: 'good' }),
    ]);
  });

  test.each([
    ['other bytes than those that were released', lines(row), 'a'.repeat(64), 'not what was released'],
    ['an example without metadata', lines({ messages: row.messages }), undefined, 'line 1: metadata'],
    ['a line that is no JSON', 'nonsense\n', undefined, 'line 1: the line'],
    ['a reply before any observation', lines({ ...row, messages: row.messages.slice(2) }), undefined, 'no observation precedes'],
    ['two replies in a row', lines({ ...row, messages: row.messages.toSpliced(3, 1) }), undefined, 'do not alternate'],
  ])('a released file with %s is refused', async (_, text, sha256, message) => {
    await expect(reading(text, sha256)).rejects.toMatchObject({
      name: 'ReleaseUnreadable',
      message: expect.stringContaining(message),
    });
  });
});

describe('spellActions', () => {
  /** An example that does what a perfect player would, its first reply not to be trained on. */
  async function played(alias: string): Promise<ReleasedChat> {
    const environment = await kind.create();
    try {
      const opening = await environment.reset({ alias, seed: 0 });
      const turns: ReleasedChat['turns'][number][] = [];
      for (let over = false; !over; ) {
        const action = (await environment.expertAction?.()) ?? '';
        const { observation, terminated } = await environment.step(action);
        over = terminated;
        turns.push({ response: `Thought: t\nAction: ${action}`, observation: over ? null : observation, loss: turns.length > 0 });
      }
      return { line: 3, kind: 'good', alias, firstObservation: opening.observation, turns };
    } finally {
      await environment.close();
    }
  }

  test('each action with loss is located with its candidates, and those without loss are omitted', async () => {
    const chat = await played('90');
    const actions = await spellActions(kind, chat, 0);
    expect(chat.turns.length).toBeGreaterThan(2);
    expect(actions.map(({ situation }) => situation.history.length)).toEqual(chat.turns.slice(1).map((_, i) => i + 1));
    const words = (text: string) => text.replace(/\d+/g, '#');
    expect(actions.map(({ candidates, chosen }) => words(candidates[chosen] ?? ''))).toEqual(
      chat.turns.slice(1).map(({ response }) => words(response.split('Action: ')[1] ?? '')),
    );
  });

  test('an example that the environment does not repeat is refused', async () => {
    const chat = await played('90');
    const other = {
      ...chat,
      turns: chat.turns.with(0, { response: 'Action: inventory', observation: 'You see a cow.', loss: false }),
    };
    await expect(spellActions(kind, other, 0)).rejects.toThrow('line 3, task 90: after reply 1');
    await expect(spellActions(kind, { ...chat, alias: '91' }, 0)).rejects.toThrow('line 3, task 91: after reply 0');
  });
});
