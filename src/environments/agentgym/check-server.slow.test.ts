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
import { openTextCraft } from '../textcraft/textcraft.ts';
import { checkServer } from './check-server.ts';
import { DESCRIPTORS, SERVER_NAMES, type ServerName } from './descriptors.ts';
import { openAgentGym } from './open-agentgym.ts';

const local = await openTextCraft();
const WORLDS: { readonly [Name in ServerName]: () => GymWorld } = {
  textcraft: () => textcraftWorld(local),
  sciworld: sciworldWorld,
  webshop: webshopWorld,
  alfworld: alfworldWorld,
  babyai: babyaiWorld,
  searchqa: searchqaWorld,
  maze: lmrlgymWorld,
  wordle: lmrlgymWorld,
};

const servers: AgentGymServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function serve(world: () => GymWorld, options = {}): Promise<AgentGymServer> {
  const server = await startAgentGymServer(world, options);
  servers.push(server);
  return server;
}
const callsTo = (url: string) => ({ baseUrl: new URL(url), timeoutMs: 5_000, patienceMs: 0 });

async function fingerprintOf(world: () => GymWorld, name: ServerName = 'sciworld', tasks = ['0']): Promise<string> {
  const kind = await openAgentGym({ server: name, url: (await serve(world)).url, tasks });
  await kind.close();
  return kind.fingerprint;
}

describe('checkServer', () => {
  test.each(SERVER_NAMES)(
    'checkServer recognises %s by its routes and texts, with or without a published list, and creates nothing',
    async (name) => {
      for (const publishesRoutes of [true, false]) {
        const server = await serve(WORLDS[name], { publishesRoutes });
        const report = await checkServer(DESCRIPTORS[name], callsTo(server.url));
        expect(report).toMatchObject({
          liveness: DESCRIPTORS[name].liveness,
          routesFrom: publishesRoutes ? 'openapi' : 'probes',
          canClose: ['textcraft', 'sciworld', 'babyai', 'searchqa'].includes(name),
        });
        for (const route of DESCRIPTORS[name].needs) expect(report.routes).toContain(DESCRIPTORS[name].prefix + route);
        expect(server.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
      }
    },
  );

  test('checkServer refuses every other environment and names the one it found', async () => {
    for (const actual of SERVER_NAMES) {
      const server = await serve(WORLDS[actual]);
      for (const asked of SERVER_NAMES) {
        if (asked === actual || WORLDS[asked] === WORLDS[actual]) continue;
        await expect(checkServer(DESCRIPTORS[asked], callsTo(server.url))).rejects.toMatchObject({
          code: 'protocol',
          retryable: false,
          message: expect.stringContaining(`it is ${DESCRIPTORS[actual].title}: write agentgym:`),
        });
      }
    }
  });

  test('checkServer reports the answer of an unknown server', async () => {
    const { url } = await serve(() => ({ liveness: '<html>It works!</html>', routes: [] }));
    await expect(checkServer(DESCRIPTORS.webshop, callsTo(url))).rejects.toThrow(
      'is not WebShop (which says "ok"); it says "<html>',
    );
  });

  test('checkServer names the routes that the requested mode lacks', async () => {
    const { url } = await serve(sciworldWorld);
    await expect(openAgentGym({ server: 'sciworld', url, tasks: ['0'], snap: 'agent-r' })).rejects.toThrow(
      'lacks the routes /valid_action_object_combinations, /look_around, /inventory',
    );
  });

  test('an unreachable server is reported at once', async () => {
    const server = await startAgentGymServer(sciworldWorld);
    await server.close();
    await expect(openAgentGym({ server: 'sciworld', url: server.url, tasks: ['0'] })).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining(`cannot reach ${server.url}: connect ECONNREFUSED`),
    });
  });
});

describe('the fingerprint of a server', () => {
  test('the fingerprint survives a restart and does not depend on the tasks of a run', async () => {
    expect(await fingerprintOf(sciworldWorld)).toBe(await fingerprintOf(sciworldWorld, 'sciworld', ['2']));
  });

  test('the fingerprint differs where openings or routes differ', async () => {
    const prints = await Promise.all([
      fingerprintOf(() => textcraftWorld(local, 0), 'textcraft'),
      fingerprintOf(() => textcraftWorld(local, 1), 'textcraft'),
      fingerprintOf(sciworldWorld),
      fingerprintOf(() => sciworldWorld(true)),
    ]);
    expect(new Set(prints).size).toBe(4);
  });

  test('the fingerprint excludes openings that do not repeat, and reports them', async () => {
    let resets = 0;
    const leaking = (): GymWorld => {
      const world = sciworldWorld();
      const routes = world.routes.map((route) =>
        route.path !== '/reset'
          ? route
          : {
              ...route,
              answer: async (input: never) => ({ ...Object(await route.answer(input)), observation: `recipe list ${resets++}` }),
            },
      );
      return { ...world, routes };
    };
    const { url } = await serve(leaking);
    const [first, second] = [
      await openAgentGym({ server: 'sciworld', url, tasks: ['0'] }),
      await openAgentGym({ server: 'sciworld', url, tasks: ['0'] }),
    ];
    expect([first.repeats, second.fingerprint]).toEqual([false, first.fingerprint]);
    await Promise.all([first.close(), second.close()]);
  });
});
