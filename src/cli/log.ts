import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import type { UndatedTopic } from '../log/event-log.ts';
import { type Lines, print, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier log`: topics that the broker does not date are dated. */
export function addLog(program: Command): void {
  const log = program.command('log');
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
        print(wantsJson(date) ? JSON.stringify(done) : describeDated(undated, dryRun ? 'would be dated' : 'are dated'));
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
