import { table } from '../../src/cli/terminal.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import type { TrainingResult } from './check-record.ts';
import type { Done } from './disturb.ts';
import { FAULT_NAMES, type Fault, HEAVY, whyNot } from './faults.ts';
import type { Laboratory } from './laboratory.ts';
import { ROLES, type Role } from './process-group.ts';
import { chaosPlan, type Disturbed, trainDisturbed, trainUndisturbed } from './train-disturbed.ts';

interface CampaignOptions {
  readonly logs: readonly ('embedded' | 'kafka')[];
  /** Ends when so many kills were done in all, shared evenly among the logs. */
  readonly kills: number;
  /** Of the first training of each log; the next one has the next seed. */
  readonly seed: number;
  readonly updates: number;
  /** At most so many kills in one training. */
  readonly each: number;
  readonly roles: readonly Role[];
  readonly faults: readonly Fault[];
  /** Ends the campaign after the training in flight. */
  readonly signal: AbortSignal;
  readonly onDone: (log: string, seed: number, kills: number, done: Done) => void;
  readonly onTrained: (line: string) => void;
}

/** What was done over one log, and what held. */
interface Findings {
  readonly log: 'embedded' | 'kafka';
  readonly trainings: readonly Disturbed[];
  /** Trainings that broke a promise or did not come to their end, with the command that repeats each. */
  readonly failures: readonly string[];
  /** Faults that cannot be done here, and why. */
  readonly skipped: readonly string[];
  readonly seconds: number;
}

const PLANS = 4; // undisturbed trainings to compare with: what happens to a plan is drawn by the seed of its disturbance
const HEAVY_EACH = 2; // of the heavy faults, in turn

/** Disturbs one training after the other until so many processes were killed over each log. */
export async function runCampaign(laboratory: Laboratory, options: CampaignOptions): Promise<readonly Findings[]> {
  const undisturbed = new Map<number, TrainingResult>();
  const findings: Findings[] = [];
  for (const log of options.logs) findings.push(await overOneLog(laboratory, options, log, undisturbed));
  return findings;
}

async function overOneLog(
  laboratory: Laboratory,
  options: CampaignOptions,
  log: 'embedded' | 'kafka',
  undisturbed: Map<number, TrainingResult>,
): Promise<Findings> {
  const [trainings, failures, skipped]: [Disturbed[], string[], Set<string>] = [[], [], new Set()];
  const share = Math.ceil(options.kills / options.logs.length);
  const began = performance.now();
  let killed = 0;
  for (let seed = options.seed; killed < share && !options.signal.aborted; seed++) {
    const before = killed;
    const kills = Math.min(options.each, share - killed);
    const failure = await trainOnce(seed, kills).catch((error: unknown) =>
      String(error instanceof Error ? error.message : error),
    );
    if (failure !== null) failures.push(`seed ${seed}: ${failure}\n  again: ${again(options, log, seed, kills)}`);
    options.onTrained(
      `${log}, seed ${seed}: ${killed} of ${share} kills; ${failure === null ? 'all held' : `FAILED: ${failure}`}`,
    );
    if (failure !== null && killed === before) break; // nothing works at all
  }
  return { log, trainings, failures, skipped: [...skipped], seconds: (performance.now() - began) / 1_000 };

  /** Returns which promises broke; null when all held. @throws Error when the training did not come to its end. */
  async function trainOnce(seed: number, kills: number): Promise<string | null> {
    const plan = chaosPlan(seed % PLANS, options.updates);
    const expected = undisturbed.get(plan.seed) ?? (await outcomeAlone(laboratory, plan));
    undisturbed.set(plan.seed, expected);
    const platform = await laboratory.platform(log);
    try {
      const reasons = new Map(options.faults.map((fault) => [fault, whyNot(fault, log, platform.means)]));
      for (const [fault, reason] of reasons) if (reason !== null) skipped.add(`${fault}: ${reason}`);
      const faults = inTurn(
        options.faults.filter((fault) => reasons.get(fault) === null),
        seed,
      );
      const onDone = (done: Done) => {
        if (done.fault === 'kill') killed++;
        options.onDone(log, seed, killed, done);
      };
      const disturbance = { seed, kills, roles: options.roles, faults, onDone };
      const disturbed = await trainDisturbed(platform, plan, expected, disturbance, platform.means);
      trainings.push(disturbed);
      const broken = disturbed.checks.filter((check) => check.broken > 0);
      return broken.length === 0 ? null : broken.map(({ promise, detail }) => `${promise} (${detail})`).join('; ');
    } finally {
      await killRunning();
      await platform.close();
    }
  }
}

async function outcomeAlone(laboratory: Laboratory, plan: ReturnType<typeof chaosPlan>): Promise<TrainingResult> {
  const quiet = await laboratory.platform('embedded');
  return trainUndisturbed(quiet, plan).finally(() => quiet.close());
}

/** Keeps two of the heavy faults, the next two in the next training. */
function inTurn(faults: readonly Fault[], seed: number): readonly Fault[] {
  const heavy: readonly Fault[] = HEAVY.filter((fault) => faults.includes(fault));
  const chosen = Array.from(
    { length: Math.min(HEAVY_EACH, heavy.length) },
    (_, i) => heavy[(seed * HEAVY_EACH + i) % heavy.length],
  );
  return faults.filter((fault) => !heavy.includes(fault) || chosen.includes(fault));
}

function again({ updates, roles, faults }: CampaignOptions, log: string, seed: number, kills: number): string {
  return `npm run chaos -- --kills ${kills} --each ${kills} --seed ${seed} --updates ${updates} --log ${log} --only ${[...new Set(roles)].join(',')} --faults '${faults.join(',')}'`;
}

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
