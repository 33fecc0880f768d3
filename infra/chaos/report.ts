import { table } from '../../src/cli/terminal.ts';
import type { Findings } from './campaign.ts';
import { FAULT_NAMES } from './faults.ts';
import { ROLES } from './process-group.ts';

const SUBJECTS = [...ROLES, 'database', 'broker', 'home'] as const;

/** Lays out as tables what was done over each log and what held, and adds it up. */
export function writeReport(findings: readonly Findings[]): string {
  const trainings = findings.flatMap((each) => each.trainings);
  const done = trainings.flatMap((training) => training.done);
  const violations = (promise: string) =>
    sum(trainings.flatMap(({ checks }) => checks).map((check) => (check.promise === promise ? check.broken : 0)));
  const minutes = sum(findings.map(({ seconds }) => seconds)) / 60;
  return [
    ...findings.map(writeFindings),
    [
      `${done.length} faults, ${killsOf(done)} of them kills, in ${minutes.toFixed(0)} min`,
      `acknowledged events lost ${violations('acknowledged events are journalled')}`,
      `double effects ${violations('no sample is trained twice')}`,
      `ledger difference ${violations('the ledger balances')}`,
      `unequal folds ${violations('read models equal their fold')}`,
      `trainings failed ${sum(findings.map(({ failures }) => failures.length))}`,
    ].join('; '),
  ].join('\n');
}

function writeFindings({ log, trainings, failures, skipped, seconds }: Findings): string {
  const done = trainings.flatMap((training) => training.done);
  const checks = trainings.flatMap((training) => training.checks);
  const subjects = SUBJECTS.map((subject) => {
    const of = done.filter((one) => one.subject === subject);
    const gaveUp = sum(trainings.map(({ exited }) => exited[subject] ?? 0));
    return [subject, ...FAULT_NAMES.map((fault) => of.filter((one) => one.fault === fault).length), gaveUp] as const;
  });
  const promises = [...new Set(checks.map(({ promise }) => promise))].map((promise) => {
    const of = checks.filter((check) => check.promise === promise).map(({ broken }) => broken);
    return [promise, of.length, of.filter((broken) => broken === 0).length, sum(of)];
  });
  const kills = killsOf(done);
  const repeated = sum(trainings.map((training) => training.repeated));
  const held = failures.length === 0 ? 'everything held' : `${failures.length} trainings FAILED`;
  return [
    `${log} log: ${kills} kills, ${done.length - kills} other faults in ${trainings.length} trainings, ${seconds.toFixed(0)} s; ${repeated} requests to the API repeated; ${held}`,
    ...skipped.map((line) => `not done: ${line}`),
    '',
    ...table(
      ['subject', ...FAULT_NAMES, 'gave up at start'],
      subjects.filter(([, ...counts]) => sum(counts) > 0),
    ),
    '',
    ...table(['promise', 'trainings', 'held', 'violations'], promises),
    '',
    ...failures,
  ].join('\n');
}

function killsOf(done: readonly { readonly fault: string }[]): number {
  return done.filter(({ fault }) => fault === 'kill').length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
