import type { StageRecord } from '../projections/experiment-stages/read-stages.ts';
import type { DeclaredExperiment } from '../usecases/experiment/record-experiment.ts';
import { type ArmResult, type Estimate, recordedArms } from '../usecases/experiment/report.ts';
import { type Lines, table } from './terminal.ts';

/** Columns that are there where a stage recorded them. */
const MORE = [
  { name: 'steps', value: 'steps', digits: 1 },
  { name: 'vision tokens', value: 'vision-tokens', digits: 1 },
  { name: 'as text', value: 'text-tokens', digits: 1 },
  { name: 'factor', value: 'factor', digits: 2 },
] as const;

/** Writes what the arms of an experiment came to: means, intervals over tasks and repetitions, and paired differences. */
export function reportTable(arms: readonly ArmResult[]): Lines {
  if (arms.length === 0) return 'nothing was measured: the experiment has no stage that evaluates or collects';
  const more = MORE.filter(({ value }) => arms.some(({ values }) => values[value] !== undefined));
  const stages = new Set(arms.map(({ stage }) => stage)).size > 1;
  const compared = arms.some(({ difference }) => difference !== null);
  const header = [
    'arm',
    ...(stages ? ['measured by'] : []),
    ...['seeds', 'success %', '95% interval', 'return', '95% interval'],
    ...more.map(({ name }) => name),
    ...(compared ? ['difference in success', 'in return', 'pairs', 'to'] : []),
  ];
  const rows = arms.map(({ arm, stage, seeds, success, return: value, values, difference }) => [
    arm,
    ...(stages ? [stage] : []),
    seeds,
    ...(success ? percents(success) : ['–', '–']),
    ...(value ? [value.mean.toFixed(3), `${value.interval.low.toFixed(3)} – ${value.interval.high.toFixed(3)}`] : ['–', '–']),
    ...more.map((column) => values[column.value]?.toFixed(column.digits) ?? '–'),
    ...(compared ? differenceCells(difference) : []),
  ]);
  return table(header, rows);
}

function percents({ mean, interval }: Estimate): readonly [string, string] {
  const percent = (share: number) => (100 * share).toFixed(1);
  return [percent(mean), `${percent(interval.low)} – ${percent(interval.high)}`];
}

function differenceCells(difference: ArmResult['difference']): readonly (string | number)[] {
  if (difference === null) return ['', '', '', ''];
  const { to, pairs, success, return: value } = difference;
  const signed = (estimate: Estimate | null, scale: number, digits: number) => {
    if (!estimate) return '–';
    const one = (x: number) => `${x < 0 ? '' : '+'}${(scale * x).toFixed(digits)}`;
    return `${one(estimate.mean)} (${one(estimate.interval.low)} to ${one(estimate.interval.high)})`;
  };
  return [signed(success, 100, 1), signed(value, 1, 3), pairs, to];
}

/** Writes how far an experiment is: a line for each stage of each arm and repetition. */
export function describeStages({ experimentId, experiment }: DeclaredExperiment, records: readonly StageRecord[]): Lines {
  const stages = recordedArms(experiment, records).flatMap((arm) => arm.stages);
  const bySeed = experiment.seeds.flatMap((seed) => stages.filter((stage) => stage.seed === seed));
  const rows = bySeed.map(({ arm, seed, name, record }) => {
    const from = record?.reusedFrom
      ? `reused from ${record.reusedFrom === experimentId ? 'another arm' : record.reusedFrom}`
      : '';
    return [
      ...[arm, seed, name, record?.outcome ?? 'to be done', record?.message || from],
      record?.output?.digest.slice(0, 12) ?? '',
    ];
  });
  const done = rows.filter(([, , , state]) => state === 'completed').length;
  return [
    `experiment ${experimentId}, ${experiment.name}: ${done} of ${rows.length} stages completed`,
    table(['arm', 'seed', 'stage', 'state', '', 'digest'], rows),
  ];
}
