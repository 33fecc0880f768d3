import { afterEach, describe, expect, test } from '@jest/globals';
import { type AgentGymServer, startAgentGymServer } from '../../testing/agentgym-server.ts';
import { sharedRandomTextcraft } from '../../testing/shared-random-textcraft.ts';
import { resetAsRecorded } from '../reset-as-recorded.ts';
import { openTextCraft } from '../textcraft/textcraft.ts';
import { type AgentGymKind, openAgentGym } from './open-agentgym.ts';

const local = await openTextCraft();
const tasks = Array.from({ length: 12 }, (_, i) => String(i));
const opened: (AgentGymServer | AgentGymKind)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

async function given() {
  const shared = sharedRandomTextcraft(local);
  const server = await startAgentGymServer(shared.world);
  const open = async () => {
    const kind = await openAgentGym({ server: 'textcraft', url: server.url, tasks });
    opened.push(kind);
    return kind;
  };
  opened.push(server);
  return { shared, server, open, kind: await open() };
}

async function openingOf(kind: AgentGymKind, alias: string): Promise<string> {
  const environment = await kind.create();
  const { observation } = await environment.reset({ alias, seed: 0 });
  await environment.close();
  return observation;
}

describe('a TextCraft server whose threads share one random state', () => {
  test('one process opens one task at a time there, so that every task opens as it does alone', async () => {
    const { shared, kind, open } = await given();
    const alone: string[] = [];
    for (const alias of tasks) alone.push(await openingOf(kind, alias));
    const second = await open();
    const together = await Promise.all([...tasks, ...tasks].map((alias, i) => openingOf(i % 2 ? kind : second, alias)));
    expect(together).toEqual([...alone, ...alone]);
    expect(shared.overlaps()).toBe(0);
    expect(new Set(alone).size).toBe(tasks.length);
  });

  test('the fingerprint survives another client that spoils an opening while it is taken', async () => {
    const { shared, kind, open } = await given();
    for (const task of [0, 1, 2]) {
      shared.spoil(task, 1);
      const again = await open();
      expect([again.fingerprint, again.repeats]).toEqual([kind.fingerprint, true]);
    }
  });

  test('an opening that differs from the record is requested once more alone before the difference counts', async () => {
    const { shared, kind } = await given();
    const recorded = await openingOf(kind, '5');
    const environment = await kind.create();
    shared.spoil(5, 1);
    expect(await resetAsRecorded(environment, { alias: '5', seed: 0 }, recorded)).toMatchObject({
      kind: 'same',
      opening: { observation: recorded },
    });
    shared.spoil(5, 2);
    expect(await resetAsRecorded(environment, { alias: '5', seed: 0 }, recorded)).toMatchObject({ kind: 'differs' });
    await environment.close();
  });
});
