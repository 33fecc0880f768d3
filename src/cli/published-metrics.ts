import type { Command } from 'commander';
import { readPublishedMetrics } from '../projections/analysis/read-published-metrics.ts';
import { readRunsById } from '../projections/runs/read-runs.ts';
import { readSettled } from './at-moment.ts';
import { checkedId } from './collect.ts';
import { print, table } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier published-metrics`: what published systems report of a run, under their names, as GraphQL's `publishedMetrics`. */
export function addPublishedMetrics(program: Command): void {
  const command = program.command('published-metrics').argument('<run>', 'the id of a run');
  command.action(async (run: string) => {
    const id = checkedId('<run>', run);
    const metrics = await readSettled('published-metrics', async (db) => {
      if ((await readRunsById(db, [id])).length === 0)
        throw new Error(`there is no run ${id}; \`espalier status\` lists the runs`);
      return readPublishedMetrics(db, id);
    });
    if (wantsJson(command)) return print(JSON.stringify(metrics));
    print(
      table(
        ['metric', 'value', 'of'],
        metrics.map(({ name, value, count }) => [name, String(Number(value.toPrecision(6))), count]),
      ),
    );
  });
}
