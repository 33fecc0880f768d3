import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import type { UndatedTopic } from '../log/event-log.ts';
import { type Adoption, adoptPartitions, planAdoption } from '../usecases/log/adopt-partitions.ts';
import { ensureProjector } from './ensure-projector.ts';
import { type Lines, say, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';

/** `espalier log`: partitions that were added to topics are taken into use, topics that the broker does not date are dated. */
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
  const date = log
    .command('date-topics')
    .description(
      'make Kafka date the records of topics from now on, so that times in the past can be asked for; all else that is configured of them stays',
    )
    .option('--dry-run', 'say which topics would be changed, and change nothing');
  date.action(({ dryRun }: { readonly dryRun?: true }) =>
    withPlatform(
      'log',
      async ({ log: opened }) => {
        const undated = await opened.undated(TOPICS);
        if (!dryRun) for (const topic of undated) await opened.date(topic);
        const done = { dated: !dryRun && undated.length > 0, topics: undated };
        say(wantsJson(date) ? JSON.stringify(done) : describeDated(undated, dryRun ? 'would be dated' : 'are dated'));
      },
      'report',
    ),
  );
}

function describeDated(undated: readonly UndatedTopic[], verb: string): Lines {
  if (undated.length === 0) return 'every topic is dated; nothing to change';
  const rows = undated.map(({ topic, settings }) => {
    const kept = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    return [topic, kept.join(' ') || 'none'];
  });
  return [
    table(['topic', 'settings that stay'], rows),
    `${undated.length} ${undated.length === 1 ? 'topic' : 'topics'} ${verb} from now on; records that they hold keep their producers' times`,
  ];
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
