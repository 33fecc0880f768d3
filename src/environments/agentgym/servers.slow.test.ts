import { afterEach, describe, expect, test } from '@jest/globals';
import { type AgentGymServer, type GymWorld, startAgentGymServer } from '../../testing/agentgym-server.ts';
import {
  alfworldWorld,
  babyaiWorld,
  lmrlgymWorld,
  sciworldWorld,
  searchqaWorld,
  textcraftWorld,
  webshopWorld,
} from '../../testing/agentgym-server-worlds.ts';
import type { Environment, StepResult } from '../environment.ts';
import { openTextCraft } from '../textcraft/textcraft.ts';
import { DESCRIPTORS, type ServerName } from './descriptors.ts';
import { type AgentGymKind, type AgentGymOptions, openAgentGym } from './open-agentgym.ts';

let server: AgentGymServer;
let kind: AgentGymKind;
let environment: Environment;
afterEach(async () => {
  await environment.close();
  await kind.close();
  await server.close();
});

async function given(name: ServerName, world: () => GymWorld, options: Partial<AgentGymOptions> = {}): Promise<void> {
  server = await startAgentGymServer(world);
  kind = await openAgentGym({ server: name, url: server.url, tasks: ['0', '1', '2'], timeoutMs: 5_000, ...options });
  environment = await kind.create();
}

const start = (alias: string) => environment.reset({ alias, seed: 0 });
const bodies = (path: string) => server.requests.filter(({ route }) => route === path).map(({ body }) => body);

/** What a test looks at in a step. */
function gist({ observation, reward, terminated, success, executable, admissibleActions }: StepResult) {
  return { observation, ...reward, terminated, success, executable, admissibleActions };
}
const open = { terminated: false, success: null, executable: true, admissibleActions: null };
const ended = { ...open, terminated: true };

describe('recorded sessions of every server', () => {
  test('TextCraft plays the world of the server with the texts and rewards of the local one', async () => {
    const local = await openTextCraft();
    await given('textcraft', () => textcraftWorld(local));
    const here = await local.create();
    for (const alias of ['0', '2']) {
      const opening = await start(alias);
      const expected = await here.reset({ alias, seed: 0 });
      expect(opening).toEqual({ ...expected, depth: null, admissibleActions: null, stateHash: null });
      for (const action of ['inventory', 'get 1 nonsense', 'dance', 'craft 1 a using b']) {
        const { observation, executable } = await here.step(action);
        expect(gist(await environment.step(action))).toEqual({
          observation,
          value: 0,
          raw: 0,
          scale: 1,
          kind: 'final',
          ...open,
          executable,
        });
      }
      for (let action = await here.expertAction?.(); action; action = await here.expertAction?.()) {
        const expectedStep = await here.step(action);
        const step = await environment.step(action);
        expect([step.observation, step.reward, step.terminated, step.success]).toEqual([
          ...[expectedStep.observation, expectedStep.reward, expectedStep.terminated, expectedStep.success],
        ]);
        if (step.terminated) break;
      }
    }
    expect(bodies('/create')).toEqual([{}]); // one environment for all: a reset makes it new
  });

  test('ScienceWorld shows description and look, and splits the cumulative score of 100 into gains', async () => {
    await given('sciworld', sciworldWorld);
    expect(await start('1')).toEqual({
      instruction: DESCRIPTORS.sciworld.instruction,
      observation: 'Your task is to melt water.\nThis room is called the kitchen. You see a stove and a pot of water.',
      goal: 'Your task is to melt water.',
      depth: null,
      split: null,
      admissibleActions: null,
      stateHash: null,
    });
    const reward = { scale: 100, kind: 'cumulative' };
    expect(gist(await environment.step('focus on water'))).toEqual({
      observation: 'You focus on water.',
      value: 0.5,
      raw: 50,
      gain: 0.5,
      ...reward,
      ...open,
    });
    expect(gist(await environment.step('dance'))).toEqual({
      observation: 'No known action matches that input.',
      value: 0.5,
      raw: 50,
      gain: 0,
      ...reward,
      ...open,
      executable: false,
    });
    expect(gist(await environment.step('activate stove'))).toEqual({
      observation: 'You activate stove.',
      value: 1,
      raw: 100,
      gain: 0.5,
      ...reward,
      ...ended,
      success: true,
    });
  });

  test('a fatal focus in ScienceWorld ends with 0, takes back what was earned, and keeps the raw score', async () => {
    await given('sciworld', sciworldWorld);
    await start('0');
    await environment.step('focus on water');
    expect(gist(await environment.step('focus on agent'))).toEqual({
      observation: 'You focus on agent.',
      value: 0,
      raw: -100,
      gain: -0.5,
      fatal: true,
      scale: 100,
      kind: 'cumulative',
      ...ended,
      success: false,
    });
    await start('0');
    expect((await environment.step('look around')).reward).toEqual({ value: 0, raw: 0, gain: 0, scale: 100, kind: 'cumulative' });
  });

  test('snapping in ScienceWorld reads the patched routes and sends the valid action', async () => {
    await given('sciworld', () => sciworldWorld(true), { snap: 'agent-r' });
    await start('0');
    expect((await environment.step('focus on the water')).observation).toBe('You focus on water.');
    expect(bodies('/step')).toEqual([{ id: 0, action: 'focus on water' }]);
  });

  test('WebShop answers a reset with an array, pays on purchase, and does not count half a match as success', async () => {
    await given('webshop', webshopWorld);
    expect(kind.report.canClose).toBe(false);
    const { observation, goal } = await start('0');
    expect([observation, goal]).toEqual([
      'WebShop [SEP] Instruction: [SEP] Find me a red cup, and price lower than 20.00 dollars [SEP] Search',
      'Find me a red cup, and price lower than 20.00 dollars',
    ]);
    for (const [alias, value, success] of [
      ['0', 1, true],
      ['1', 0.5, false],
    ] as const) {
      await start(alias);
      const search = await environment.step('search[cup]');
      expect([search.observation.endsWith('Red Cup'), search.reward.value, search.terminated]).toEqual([true, 0, false]);
      await environment.step('click[B001]');
      const bought = await environment.step('click[Buy Now]');
      expect([bought.reward, bought.terminated, bought.success]).toEqual([
        { value, raw: value, scale: 1, kind: 'final' },
        true,
        success,
      ]);
    }
  });

  test('ALFWorld lists the actions below every observation, and the list is passed on', async () => {
    await given('alfworld', alfworldWorld);
    const actions = ['go to desk 1', 'put mug 1 in/on desk 1', 'look'];
    const list = `\nAVAILABLE ACTIONS: ${actions.join(',')}`;
    expect(await start('0')).toMatchObject({
      observation: `You are in the middle of a room.\nYour task is to: put a mug in the desk.${list}`,
      goal: 'put a mug in the desk',
      admissibleActions: actions,
    });
    expect(gist(await environment.step('look'))).toEqual({
      observation: `Nothing happens.${list}`,
      value: 0,
      raw: 0,
      scale: 1,
      kind: 'final',
      ...open,
      executable: false,
      admissibleActions: actions,
    });
    expect(gist(await environment.step(actions[1] ?? ''))).toMatchObject({ value: 1, ...ended, success: true });
    expect(bodies('/reset').at(-1)).toEqual({ id: 0, game: 0, world_type: 'Text' });
  });

  test('BabyAI lists its actions in the observation, and every end is a success', async () => {
    await given('babyai', babyaiWorld);
    const opening = await start('0');
    expect(opening.goal).toBe('go to the red ball');
    expect(opening.admissibleActions).toEqual(['turn left', 'go to red ball 1', 'check available actions']);
    expect((await environment.step('dance')).reward).toEqual({ value: 0, raw: 0, gain: 0, scale: 1, kind: 'cumulative' });
    expect(gist(await environment.step('go to red ball 1'))).toMatchObject({
      value: 0.9,
      raw: 0.9,
      terminated: true,
      success: true,
    });
  });

  test('SearchQA opens with a bare text, takes tags as actions, and permits another try after a wrong answer', async () => {
    await given('searchqa', searchqaWorld);
    expect((await start('0')).goal).toBe('what is the capital of France');
    const wrong = await environment.step('<answer>Lyon</answer>');
    expect([wrong.reward.value, wrong.terminated]).toEqual([0.1, false]);
    const right = await environment.step('<answer>Paris</answer>');
    expect([right.reward.value, right.terminated, right.success]).toEqual([1, true, true]);
    expect(bodies('/create')).toEqual([{ id: 0 }]);
  });

  test('Maze treats a reward below 0 as zero, not as fatal, and its address may end in /maze as for the Python client', async () => {
    server = await startAgentGymServer(lmrlgymWorld);
    kind = await openAgentGym({ server: 'maze', url: `${server.url}/maze`, tasks: ['4', '9'] });
    environment = await kind.create();
    expect((await start('4')).goal).toBe('The goal is at position 8, 6');
    expect(gist(await environment.step('dance'))).toMatchObject({ value: 0, raw: -4, terminated: false });
    await environment.step('move right');
    expect(gist(await environment.step('move right'))).toMatchObject({ value: 1, terminated: true, success: true });
    await expect(start('9')).rejects.toMatchObject({
      code: 'unknown-task',
      message: expect.stringContaining('The game 9 is not valid'),
    });
  });

  test('Wordle names the game and its words in the first observation, so that tasks differ', async () => {
    await given('wordle', lmrlgymWorld);
    const openings = [await start('0'), await start('1')].map(({ observation }) => observation);
    expect(openings).toEqual(
      [0, 1].map((game) => `Let's start Wordle!\nGame ${game}. The words are:\ns h i r e\nf r o w n\nf e l o n`),
    );
    expect(gist(await environment.step('f r o w n'))).toMatchObject({ observation: 'g g g g g', value: 1, success: true });
  });
});

describe('actions of the published clients', () => {
  test('actions are sent as by the published clients, and refused without a request where those refuse', async () => {
    await given('babyai', babyaiWorld, { client: '2025-09' });
    await start('0');
    const before = server.requests.length;
    const twice = await environment.step('Action: turn left\nAction: turn right');
    expect([twice.observation, twice.executable, twice.reward.value]).toEqual([
      expect.stringContaining("Only one 'Action' is allowed"),
      false,
      0,
    ]);
    expect(server.requests).toHaveLength(before);
    await environment.step('Action: go to red_ball 1');
    expect(bodies('/step')).toEqual([{ id: 0, action: 'go to redball 1' }]);
  });
});
