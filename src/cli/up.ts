import type { Command } from 'commander';
import { runAll } from '../app/run-all.ts';
import { startOnPlatform } from '../app/start-on-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { drain } from '../runtime/draining.ts';
import { runUntilStopped } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { pageLink } from './page-link.ts';
import { print, printFailure } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier up`: database, log, projections and API in one process, until Ctrl-C, which is how it ends: with exit code 0. */
export function addUp(program: Command): void {
  const command = program.command('up');
  command.action(() => {
    const start = async (signal: AbortSignal) => {
      const config = readConfig();
      const logger = createLogger({ level: config.logLevel });
      const started = await startOnPlatform({ config, name: 'up', logger, signal }, (platform) => runAll(platform, logger));
      const { platform, running: all, close } = started;
      const { log, database } = platform.mode;
      if (wantsJson(command)) print(JSON.stringify({ state: 'serving', url: all.url, log, database, home: config.home }));
      else {
        print(`log ${log}, database ${database}, data in ${config.home}`);
        print(`GraphQL ${all.url}/graphql   events in: POST ${all.url}/v1/events   health ${all.url}/healthz`);
        print(`studio ${await pageLink(config, all.url, '/')}`);
      }
      return { finished: all.finished, drain: () => drain(config.drainMs), close };
    };
    return runUntilStopped(start, { reportStartFault: (error) => printFailure(error, command) });
  });
}
