import { type Command, Option } from 'commander';
import {
  AGGREGATE_BY,
  type Aggregate,
  type AggregateBy,
  type AggregatePart,
  aggregate,
} from '../projections/analysis/aggregate.ts';
import { readSettled } from './at-moment.ts';
import { checkedId } from './collect.ts';
import { type Lines, print, table } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';

interface AggregateFlags {
  readonly by: string;
  readonly run: readonly string[];
  readonly policy?: string;
  readonly policyVersion?: number;
  readonly depth?: number;
  readonly kind?: string;
}

const NAMES = AGGREGATE_BY.map((by) => by.toLowerCase().replace('_', '-'));
const PARTS: ReadonlySet<AggregatePart> = new Set(['rollouts', 'steps', 'tools', 'components']);

/** `espalier aggregate`: sums runs up by what is asked for, with the numbers that GraphQL shows as `aggregate`. */
export function addAggregate(program: Command): void {
  const command = program
    .command('aggregate')
    .addOption(new Option('--by <what>', 'how rollouts are grouped').choices(NAMES).default('run'))
    .requiredOption('--run <id...>', 'only these runs')
    .option('--policy <name>', 'only rollouts of this policy')
    .option('--policy-version <n>', 'only rollouts of this version', wholeNumber('--policy-version', 0))
    .option('--depth <n>', 'only tasks of this depth', wholeNumber('--depth', 0))
    .option('--kind <name>', 'only tasks of this kind');
  command.action(async ({ by, run, policy, policyVersion, depth, kind }: AggregateFlags) => {
    const filter = {
      runIds: run.map((id) => checkedId('--run', id)),
      ...(policy === undefined ? {} : { policyId: policy }),
      ...(policyVersion === undefined ? {} : { policyVersion }),
      ...(depth === undefined ? {} : { taskDepth: depth }),
      ...(kind === undefined ? {} : { taskKind: kind }),
    };
    const key = AGGREGATE_BY[NAMES.indexOf(by)] ?? 'RUN'; // one of NAMES: commander has refused the others
    const groups = await readSettled('aggregate', (db) => aggregate(db, key, filter, PARTS));
    if (groups.length === 0) process.exitCode = 1;
    if (wantsJson(command)) return print(JSON.stringify(groups));
    print(
      groups.length === 0 ? 'nothing on record belongs to these runs; `espalier status` lists the runs' : layOut(key, groups),
    );
  });
}

function layOut(by: AggregateBy, groups: readonly Aggregate[]): Lines {
  const components = [...new Set(groups.flatMap((group) => group.components.map(({ component }) => component)))].sort();
  const rows = groups.map((group) => {
    const { rollouts, steps, tools } = group;
    const meanOf = (name: string) => group.components.find(({ component }) => component === name)?.mean;
    return [
      nameOf(by, group),
      rollouts.finished,
      share(rollouts.successRate),
      number(rollouts.meanReturn),
      number(rollouts.meanSteps, 1),
      steps.steps,
      steps.promptTokens + steps.completionTokens,
      (steps.policyMs / 1_000).toFixed(1),
      (steps.environmentMs / 1_000).toFixed(1),
      tools.calls,
      tools.errors,
      ...components.map((name) => number(meanOf(name))),
    ];
  });
  return table(
    [
      ...[by.toLowerCase().replace('_', ' '), 'rollouts', 'success', 'return', 'steps mean', 'steps', 'tokens', 'policy s'],
      ...['environment s', 'tool calls', 'tool errors', ...components],
    ],
    rows,
  );
}

function nameOf(by: AggregateBy, group: Aggregate): string {
  const { runId, taskId, taskDepth, taskKind, policyId, policyVersion, environment, tool } = group;
  switch (by) {
    case 'RUN':
      return runId ?? '?';
    case 'TASK':
      return taskId ?? '?';
    case 'DEPTH':
      return taskDepth === null ? '?' : String(taskDepth);
    case 'KIND':
      return taskKind ?? '?';
    case 'POLICY_VERSION':
      return `${policyId ?? '?'}@${policyVersion ?? '?'}`;
    case 'ENVIRONMENT':
      return environment ?? '?';
    case 'TOOL':
      return tool ?? '?';
    default:
      return by satisfies never;
  }
}

function share(value: number | null): string {
  return value === null ? '?' : `${(100 * value).toFixed(1)}%`;
}

function number(value: number | null | undefined, digits = 3): string {
  return value === null || value === undefined ? '' : value.toFixed(digits);
}
