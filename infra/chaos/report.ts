import { table } from '../../src/cli/terminal.ts';
import type { Findings } from './campaign.ts';
import { FAULT_NAMES } from './faults.ts';
import { ROLES } from './process-group.ts';

/** What a campaign comes to, in figures. */
export interface Report {
  readonly kills: number;
  /** Kills included. */
  readonly faults: number;
  readonly trainings: number;
  readonly failed: number;
  readonly seconds: number;
  readonly acknowledgedEventsLost: number;
  readonly doubleEffects: number;
  readonly ledgerDifference: number;
  readonly unequalFolds: number;
  readonly logs: readonly {
    readonly log: string;
    readonly kills: number;
    readonly faults: number;
    readonly trainings: number;
    readonly seconds: number;
    readonly repeatedRequests: number;
    readonly failures: readonly string[];
    readonly skipped: readonly string[];
    /** Subject → fault → how often; `gaveUp`: processes that were starting while a server was away. */
    readonly done: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly promises: readonly {
      readonly promise: string;
      readonly trainings: number;
      readonly held: number;
      readonly violations: number;
    }[];
  }[];
}

const SUBJECTS = [...ROLES, 'database', 'broker', 'home'] as const;

/** Counts what was done and what held. */
export function reportOf(findings: readonly Findings[]): Report {
  const logs = findings.map(({ log, trainings, failures, skipped, seconds }) => {
    const done = trainings.flatMap((one) => one.done);
    const counted = SUBJECTS.map((subject) => {
      const faults = FAULT_NAMES.map(
        (fault) => [fault, done.filter((one) => one.fault === fault && one.subject === subject).length] as const,
      );
      return [
        subject,
        { ...Object.fromEntries(faults), gaveUp: trainings.reduce((sum, one) => sum + (one.exited[subject] ?? 0), 0) },
      ] as const;
    });
    const checks = trainings.flatMap((one) => one.checks);
    const promises = [...new Set(checks.map(({ promise }) => promise))].map((promise) => {
      const of = checks.filter((check) => check.promise === promise);
      const violations = of.reduce((sum, { broken }) => sum + broken, 0);
      return { promise, trainings: of.length, held: of.filter(({ broken }) => broken === 0).length, violations };
    });
    return {
      log,
      seconds,
      failures,
      skipped,
      promises,
      kills: done.filter(({ fault }) => fault === 'kill').length,
      faults: done.length,
      trainings: trainings.length,
      repeatedRequests: trainings.reduce((sum, one) => sum + one.repeated, 0),
      done: Object.fromEntries(counted),
    };
  });
  const sum = (of: (log: (typeof logs)[number]) => number) => logs.reduce((total, log) => total + of(log), 0);
  const violationsOf = (promise: string) => sum((log) => log.promises.find((one) => one.promise === promise)?.violations ?? 0);
  return {
    kills: sum(({ kills }) => kills),
    faults: sum(({ faults }) => faults),
    trainings: sum(({ trainings }) => trainings),
    failed: sum(({ failures }) => failures.length),
    seconds: sum(({ seconds }) => seconds),
    acknowledgedEventsLost: violationsOf('acknowledged events are journalled'),
    doubleEffects: violationsOf('no sample is trained twice'),
    ledgerDifference: violationsOf('the ledger balances'),
    unequalFolds: violationsOf('read models equal their fold'),
    logs,
  };
}

/** Lays a report out as tables. */
export function writeReport(report: Report): string {
  const parts = report.logs.map(
    ({ log, kills, faults: count, trainings, seconds, repeatedRequests, failures, skipped, done, promises }) => {
      const subject = Object.entries(done).filter(([, faults]) => Object.values(faults).some((times) => times > 0));
      return [
        `${log} log: ${kills} kills, ${count - kills} other faults in ${trainings} trainings, ${seconds.toFixed(0)} s; ${repeatedRequests} requests to the API repeated; ${failures.length === 0 ? 'everything held' : `${failures.length} trainings FAILED`}`,
        ...skipped.map((line) => `not done: ${line}`),
        '',
        ...table(
          ['subject', ...FAULT_NAMES, 'gave up at start'],
          subject.map(([name, faults]) => [name, ...Object.values(faults)]),
        ),
        '',
        ...table(
          ['promise', 'trainings', 'held', 'violations'],
          promises.map(({ promise, trainings: of, held, violations }) => [promise, of, held, violations]),
        ),
        '',
        ...failures,
      ].join('\n');
    },
  );
  const { faults, kills, seconds, acknowledgedEventsLost, doubleEffects, ledgerDifference, unequalFolds, failed } = report;
  const sum = `${faults} faults, ${kills} of them kills, in ${(seconds / 60).toFixed(0)} min: acknowledged events lost ${acknowledgedEventsLost}, double effects ${doubleEffects}, ledger difference ${ledgerDifference}, unequal folds ${unequalFolds}; trainings failed ${failed}`;
  return [...parts, sum].join('\n');
}
