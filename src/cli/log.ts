import type { Command } from 'commander';
import { type Adoption, adoptPartitions, planAdoption } from '../usecases/log/adopt-partitions.ts';
import { ensureProjector } from './ensure-projector.ts';
import { type Lines, say, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';

/** `espalier log`: what concerns the log itself; `adopt-partitions` takes partitions that were added to topics into use. */
export function addLog(program: Command): void {
  const log = program.command('log');
  const adopt = log
    .command('adopt-partitions')
    .description('take partitions that were added to topics into use for new streams; streams that exist stay where they are')
    .option('--dry-run', 'say what would be adopted, and change nothing')
    .option('--wait <seconds>', 'how long to wait for processes that append', wholeNumber('--wait', 1, 86_400), 300);
  adopt.action(({ dryRun, wait }: { readonly dryRun?: true; readonly wait: number }) =>
    withPlatform(
      'log',
      async (platform, signal) => {
        if (dryRun) {
          const plan = await planAdoption(platform);
          return say(wantsJson(adopt) ? JSON.stringify({ adopted: false, ...plan }) : describe(plan, 'would be adopted'));
        }
        const projector = await ensureProjector(platform);
        try {
          const done = await adoptPartitions(platform, { limitMs: wait * 1_000, signal });
          say(wantsJson(adopt) ? JSON.stringify({ adopted: done.topics.length > 0, ...done }) : describe(done, 'adopted'));
        } finally {
          await projector.close();
        }
      },
      'adopt',
    ),
  );
}

function describe({ topics, appenders }: Adoption, verb: string): Lines {
  if (topics.length === 0) return 'every partition of every topic is in use; nothing to adopt';
  const rows = topics.map(({ topic, used, has, streams }) => [topic, used, has, streams]);
  const waited = appenders.map(({ name, age }) => `${name} (seen ${Math.round(age / 1_000)} s ago)`);
  return [
    table(['topic', 'in use', verb === 'adopted' ? 'in use now' : 'afterwards', 'streams that stay'], rows),
    `${topics.length} ${topics.length === 1 ? 'topic' : 'topics'} ${verb}; processes that append: ${waited.join(', ') || 'none'}`,
  ];
}
