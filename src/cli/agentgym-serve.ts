import type { Command } from 'commander';
import { openEnvironment, parseEnvironment } from '../environments/open-environment.ts';
import { serveTextCraft } from '../environments/textcraft/serve-textcraft.ts';
import { runUntilStopped } from '../runtime/lifecycle.ts';
import { print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';

/** `espalier agentgym serve`: TextCraft for clients of AgentGym's server, with copies of environments, until Ctrl-C. */
export function addAgentgymServe(group: Command): void {
  const command = group
    .command('serve')
    .description("serve TextCraft by the protocol of AgentGym's server, and two requests more: POST /fork and POST /replay")
    .argument('<environment>', 'textcraft, or textcraft:FOLDER with recipe files')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 takes a free one', numberBetween('--port', 0, 65_535), 8_900);
  command.action(async (environment: string, { host, port }: { host: string; port: number }) => {
    const { environment: name } = parseEnvironment(environment);
    if (name !== 'textcraft')
      throw new Error(
        `${name} is not served here; name textcraft or textcraft:FOLDER (published ones: python -m espalier_rl serve-published)`,
      );
    const kind = await openEnvironment(environment);
    const server = await serveTextCraft(kind, { host, port });
    print(wantsJson(command) ? JSON.stringify({ state: 'serving', url: server.url }) : `listening on ${server.url}`);
    await runUntilStopped(async () => ({
      finished: new Promise<never>(() => {}),
      close: async () => {
        await server.close();
        await kind.close();
      },
    }));
  });
}
