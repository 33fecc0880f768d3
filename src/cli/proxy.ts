import type { Command } from 'commander';
import { serveProxy } from '../app/serve-proxy.ts';
import { startOnPlatform } from '../app/start-on-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { runUntilStopped } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { isHttpAddress } from '../runtime/secret-address.ts';
import { print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';

/** `espalier proxy`: stands for a model server and records what an agent asks it, until Ctrl-C. */
export function addProxy(program: Command): void {
  const command = program
    .command('proxy')
    .option(
      '--upstream <url>',
      'model server, up to and without /chat/completions; ESPALIER_UPSTREAM otherwise. Its key: https://secret:NAME@host, or OPENAI_API_KEY',
      upstreamAddress,
    )
    .option('--port <n>', 'port to listen on; 0 for a free one', numberBetween('--port', 0, 65_535), 4_100)
    .option('--when-unrecorded <what>', 'what becomes of a call that cannot be recorded: pass (unless given), fail', failOrPass);
  command.action((options: { upstream?: string; port: number; whenUnrecorded?: 'fail' | 'pass' }) =>
    runUntilStopped(async (signal) => {
      const read = readConfig();
      const upstream = options.upstream ?? read.upstream;
      if (upstream === null) throw new Error('--upstream is missing: name the model server, such as http://127.0.0.1:8000/v1');
      const config = { ...read, upstream, port: options.port, whenUnrecorded: options.whenUnrecorded ?? read.whenUnrecorded };
      const logger = createLogger({ level: config.logLevel });
      const started = await startOnPlatform({ config, name: 'proxy', logger, signal }, (platform) =>
        serveProxy(platform, logger),
      );
      const { running: proxy, close } = started;
      if (wantsJson(command)) print(JSON.stringify({ state: 'serving', url: proxy.url }));
      else {
        print(`base_url of the agent: ${proxy.url}/v1/proxy/RUN/TASK/ROLLOUT   api_key: \`espalier token\`, or an API key`);
        print(`rewards and ends: POST …/reward {"value": 1}   POST …/end {"success": true}`);
      }
      return { finished: proxy.finished, close };
    }),
  );
}

function upstreamAddress(text: string): string {
  if (isHttpAddress(text)) return text;
  throw new Error(
    `--upstream must be an http or https address such as http://127.0.0.1:8000/v1, not ${JSON.stringify(text.slice(0, 80))}`,
  );
}

function failOrPass(text: string): 'fail' | 'pass' {
  if (text === 'fail' || text === 'pass') return text;
  throw new Error(`--when-unrecorded must be fail or pass, not ${JSON.stringify(text.slice(0, 80))}`);
}
