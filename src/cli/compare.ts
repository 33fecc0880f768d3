import type { Command } from 'commander';
import { BOOTSTRAP_DEFAULTS } from '../domain/evaluation/bootstrap-interval.ts';
import type { PairedComparison } from '../domain/evaluation/compare-paired.ts';
import { compareTaskResults } from '../projections/analysis/compare-task-results.ts';
import { readRunsById } from '../projections/runs/read-runs.ts';
import { readSettled } from './at-moment.ts';
import { checkedId } from './collect.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';

/** `espalier compare`: runs next to the first one, on the tasks that both have, with the numbers of GraphQL's `compare`. */
export function addCompare(program: Command): void {
  const command = program
    .command('compare')
    .argument('<baseline>', 'the baseline run')
    .argument('<runs...>', 'the other runs')
    .option(
      '--resamples <n>',
      'resamples of the bootstrap',
      wholeNumber('--resamples', 1, 1_000_000),
      BOOTSTRAP_DEFAULTS.resamples,
    )
    .option('--seed <n>', 'seed of the bootstrap', wholeNumber('--seed', 0), 1);
  command.action(
    async (baseline: string, others: readonly string[], { resamples, seed }: { resamples: number; seed: number }) => {
      const ids = [...new Set([checkedId('<baseline>', baseline), ...others.map((id) => checkedId('<runs>', id))])];
      if (ids.length < 2) throw new Error('name two different runs at least');
      const { runs, compared } = await readSettled('compare', async (db) => ({
        runs: new Map((await readRunsById(db, ids)).map(({ id, name }) => [id, name])),
        compared: await compareTaskResults(db, ids, { ...BOOTSTRAP_DEFAULTS, resamples, seed }),
      }));
      const unknown = ids.find((id) => !runs.has(id));
      if (unknown !== undefined) throw new Error(`there is no run ${unknown}; \`espalier status\` lists the runs`);
      if (compared.some(({ tasks }) => tasks === 0)) process.exitCode = 1;
      if (wantsJson(command)) return print(JSON.stringify(compared));
      print(`compared with ${runs.get(ids[0] ?? '')} (${ids[0]}), task by task`);
      print(
        table(
          ['run', 'measure', 'tasks', 'baseline', 'run', 'difference', '95% interval', 'better', 'worse', 'equal'],
          compared.flatMap(({ runId, tasks, success, return: returns }) => {
            const name = runs.get(runId) ?? runId;
            if (tasks === 0) return [[name, 'no task in common', 0, '', '', '', '', '', '', '']];
            return [row(name, 'success', success), row(name, 'return', returns)];
          }),
        ),
      );
    },
  );
}

function row(name: string, measure: string, of: PairedComparison | null): (string | number)[] {
  if (of === null) return [name, `${measure}: not judged`, 0, '', '', '', '', '', '', ''];
  const { tasks, baselineMean, otherMean, difference, interval, better, worse, equal } = of;
  const bounds = `${interval.low.toFixed(3)} – ${interval.high.toFixed(3)}`;
  return [
    name,
    measure,
    tasks,
    baselineMean.toFixed(3),
    otherMean.toFixed(3),
    difference.toFixed(3),
    bounds,
    better,
    worse,
    equal,
  ];
}
