import { afterEach, describe, expect, test } from '@jest/globals';
import { type AgentGymServer, type GymWorld, startAgentGymServer } from '../../testing/agentgym-server.ts';
import { sciworldWorld, searchqaWorld, textcraftWorld, webshopWorld } from '../../testing/agentgym-server-worlds.ts';
import type { Environment } from '../environment.ts';
import { openTextCraft } from '../textcraft/textcraft.ts';
import type { ServerName } from './descriptors.ts';
import { commandsIn, fillTemplates } from './hints.ts';
import { type AgentGymKind, openAgentGym } from './open-agentgym.ts';

const opened: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

/** Opens an environment whose openings and steps list what is possible. */
async function given(name: ServerName, world: () => GymWorld, publishesRoutes = true) {
  const server = await startAgentGymServer(world, { publishesRoutes });
  const kind = await openAgentGym({ server: name, url: server.url, tasks: ['0', '1'], timeoutMs: 5_000 });
  const environment = await (kind.withHints?.() ?? kind).create();
  opened.push(server, kind, environment);
  return { server, kind, environment };
}
const begin = (environment: Environment) => environment.reset({ alias: '0', seed: 0 });
const askedFor = ({ requests }: AgentGymServer, path: string) => requests.filter(({ route }) => route === path).length;
const listedIn = async (kind: AgentGymKind) => {
  const environment = await kind.create();
  opened.push(environment);
  return (await begin(environment)).admissibleActions;
};

describe('what is possible on a server whose answers do not list it', () => {
  test.each([true, false])(
    'ScienceWorld is asked by its own templates at every step that does not end the episode (routes published: %s)',
    async (published) => {
      const { server, kind, environment } = await given('sciworld', sciworldWorld, published);
      const before = askedFor(server, '/action_hint'); // whether it has the route
      const all = ['look around', 'activate stove', 'activate water', 'focus on stove', 'focus on water'];
      expect((await begin(environment)).admissibleActions).toEqual(all);
      expect((await environment.step('focus on water')).admissibleActions).toEqual(all);
      const end = await environment.step('activate stove');
      expect([end.terminated, end.admissibleActions]).toEqual([true, null]);
      expect(askedFor(server, '/action_hint') - before).toBe(2);
      expect(await listedIn(kind)).toBeNull(); // who does not choose from a list costs no request
      expect(askedFor(server, '/action_hint') - before).toBe(2);
    },
  );

  test("a ScienceWorld server with the routes of Agent-R's patch is asked for what its simulator finds valid", async () => {
    const { environment } = await given('sciworld', () => sciworldWorld(true));
    expect((await begin(environment)).admissibleActions).toContain('close endpoint to hallway');
  });

  test('TextCraft lists the commands of its opening, what they take and no command makes, without a request', async () => {
    const local = await openTextCraft();
    const { server, kind, environment } = await given('textcraft', () => textcraftWorld(local));
    const opening = await begin(environment);
    const before = server.requests.length;
    const [get = ''] = opening.admissibleActions?.filter((action) => action.startsWith('get ')) ?? [];
    const after = await environment.step(get);
    expect([after.observation, after.executable]).toEqual([expect.stringMatching(/^Got /), true]);
    expect(after.admissibleActions).toEqual(opening.admissibleActions);
    expect(opening.admissibleActions?.at(-1)).toBe('inventory');
    expect(server.requests.length - before).toBe(1);
    expect(await listedIn(kind)).toBeNull();
  });

  test('WebShop lists what its page shows, and a search for the words of the instruction', async () => {
    const { environment } = await given('webshop', webshopWorld);
    const opening = await begin(environment);
    expect(opening.admissibleActions).toEqual(['search[Find me a red cup, and price lower than 20.00 dollars]']);
    const results = await environment.step(opening.admissibleActions?.[0] ?? '');
    expect(results.admissibleActions).toEqual(['click[back to search]', 'click[b001]']);
    expect((await environment.step('click[b001]')).admissibleActions).toEqual(['click[buy now]']);
  });

  test('a server that has nothing of the kind lists nothing', async () => {
    const { kind } = await given('searchqa', searchqaWorld);
    expect(kind.withHints).toBeUndefined();
  });
});

describe('lists of actions', () => {
  test('a get names only what no shown command makes', () => {
    const opening = [
      'Crafting commands:',
      'craft 4 oak planks using 1 oak log',
      'craft 1 barrel using 6 oak planks, 2 oak slab',
      '',
      'Goal: craft barrel.',
    ].join('\n');
    expect(commandsIn(opening)).toEqual([
      'get 1 oak log',
      'get 2 oak slab',
      'craft 4 oak planks using 1 oak log',
      'craft 1 barrel using 6 oak planks, 2 oak slab',
      'inventory',
    ]);
  });

  test('templates are filled with every object and with pairs of different ones, 1,000 actions at most', () => {
    expect(fillTemplates(['wait', 'open OBJ', 'move OBJ to OBJ', 'reset task'], ['$& door', 'cup'])).toEqual([
      'wait',
      'open $& door',
      'open cup',
      'move $& door to cup',
      'move cup to $& door',
    ]);
    const objects = Array.from({ length: 90 }, (_, i) => `thing ${i}`);
    const many = fillTemplates(['open OBJ', 'move OBJ to OBJ', 'pour OBJ into OBJ'], objects);
    expect(many.length).toBeLessThanOrEqual(1_000);
    expect(many.filter((action) => action.startsWith('pour ')).length).toBeGreaterThan(400);
    expect(many).toEqual(expect.arrayContaining(objects.map((each) => `open ${each}`)));
  });
});
