import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openTextCraft } from '../environments/textcraft/textcraft.ts';
import { freePort } from '../runtime/free-port.ts';
import { type AgentGymServer, startAgentGymServer } from '../testing/agentgym-server.ts';
import { lmrlgymWorld, sciworldWorld, textcraftWorld } from '../testing/agentgym-server-worlds.ts';
import { runEspalier } from '../testing/worker-process.ts';

const servers: AgentGymServer[] = [];
let textcraft: AgentGymServer;
let sciworld: AgentGymServer;
let lmrlgym: AgentGymServer;
beforeAll(async () => {
  const local = await openTextCraft();
  textcraft = await startAgentGymServer(() => textcraftWorld(local));
  sciworld = await startAgentGymServer(() => sciworldWorld(true));
  lmrlgym = await startAgentGymServer(lmrlgymWorld);
  servers.push(textcraft, sciworld, lmrlgym);
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const check = (...args: string[]) => runEspalier(['agentgym', 'check', ...args], {});

describe('espalier agentgym check', () => {
  test('the check describes what runs behind a URL and how to name it, and creates nothing there', async () => {
    const { stdout, code } = await check(textcraft.url);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^TextCraft \(textcraft\) at http:\/\/127\.0\.0\.1:\d+\/\n {2}says {8}This is environment TextCraft\.\n/,
    );
    expect(stdout).toMatch(/ {2}closing {5}yes\n/);
    expect(stdout).toContain(
      [
        '  hints       for policies that choose from a list, such as random: the commands of the opening',
        '  answers     equal actions are answered alike: what was seen is not asked again',
        '  at once     a run starts one task at a time: tasks share a random state there',
        '',
      ].join('\n'),
    );
    expect(stdout).toMatch(/ {2}in a plan {3}agentgym:textcraft@http:\/\/127\.0\.0\.1:\d+#0-99\n$/);
    expect(textcraft.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  test('the check with --open shows fingerprint and openings, and recognises both environments of LMRL-Gym by either URL', async () => {
    const opened = await check('--open', `sciworld@${sciworld.url}`);
    expect(opened.stdout).toMatch(
      / {2}snapping {4}yes, .*\n {2}fingerprint [0-9a-f]{64}\n {2}openings {4}a task opens alike every time\n/,
    );
    const both = await runEspalier(['--json', 'agentgym', 'check', `${lmrlgym.url}/maze`], {});
    const names = (JSON.parse(both.stdout) as { name: string }[]).map(({ name }) => name); // as the command prints it
    expect(names).toEqual(['maze', 'wordle']);
  });

  test('the check reports a missing server, another environment, an unknown name or a malformed URL in one line', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`;
    for (const [argument, message] of [
      [nobody, /^espalier: .*127\.0\.0\.1:\d+.*\n$/],
      [`webshop@${textcraft.url}`, /^espalier: .* is not WebShop .*; it is TextCraft: write agentgym:textcraft@…\n$/],
      [`chess@${textcraft.url}`, /^espalier: there is no AgentGym environment "chess", there are textcraft, .*\n$/],
      ['127.0.0.1:8000', /^espalier: "127\.0\.0\.1:8000" is no http URL; .*\n$/],
    ] as const) {
      const { stderr, stdout, code } = await check(argument);
      expect({ stdout, code }).toEqual({ stdout: '', code: 1 });
      expect(stderr).toMatch(message);
    }
  });
});
