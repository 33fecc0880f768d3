import { killRunning } from '../../src/testing/worker-process.ts';
import { chaosPlan } from './chaos-plan.ts';
import type { Outcome } from './check-record.ts';
import type { Done } from './disturb.ts';
import { type Fault, HEAVY, whyNot } from './faults.ts';
import type { Laboratory } from './laboratory.ts';
import type { Role } from './process-group.ts';
import { type Disturbed, trainDisturbed, trainUndisturbed } from './train-disturbed.ts';

export interface CampaignOptions {
  readonly logs: readonly ('embedded' | 'kafka')[];
  /** Ends when so many kills, or so many faults of every kind, were done in all, shared evenly among the logs. */
  readonly count: { readonly of: 'kills' | 'faults'; readonly until: number };
  /** Of the first training of each log; the next one has the next seed. */
  readonly seed: number;
  readonly updates: number;
  /** At most so many kills in one training. */
  readonly each: number;
  readonly roles: readonly Role[];
  readonly faults: readonly Fault[];
  /** Ends the campaign behind the training in flight. */
  readonly signal: AbortSignal;
  readonly onDone: (log: string, seed: number, killed: number, done: Done) => void;
  readonly onTrained: (line: string) => void;
  /** Trainings of this campaign that an earlier process came to the end of: they are not done again. */
  readonly kept: readonly Trained[];
  readonly keep: (trained: Trained) => Promise<void>;
}

/** A training of a campaign, and what broke in it; null when every promise held. */
export interface Trained {
  readonly log: 'embedded' | 'kafka';
  readonly seed: number;
  /** Null when it did not come to its end. */
  readonly disturbed: Disturbed | null;
  readonly failure: string | null;
  readonly counted: number;
  readonly seconds: number;
}

/** What was done over one log, and what held. */
export interface Findings {
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
  const undisturbed = new Map<number, Outcome>();
  const share = Math.ceil(options.count.until / options.logs.length);
  const clock = { began: performance.now(), counted: 0, now: 0, wanted: share * options.logs.length };
  const findings: Findings[] = [];
  for (const log of options.logs) findings.push(await overOneLog(laboratory, options, { log, share, undisturbed, clock }));
  return findings;
}

interface Share {
  readonly log: 'embedded' | 'kafka';
  readonly share: number;
  readonly undisturbed: Map<number, Outcome>;
  /** `now`: of those counted, the ones that this process did. */
  readonly clock: { readonly began: number; counted: number; now: number; readonly wanted: number };
}

async function overOneLog(
  laboratory: Laboratory,
  options: CampaignOptions,
  { log, share, undisturbed, clock }: Share,
): Promise<Findings> {
  const [all, skipped]: [Trained[], Set<string>] = [[], new Set()];
  const { of: counts } = options.count;
  let counted = 0;
  for (let seed = options.seed; counted < share && !options.signal.aborted; seed++) {
    const before = options.kept.find((one) => one.log === log && one.seed === seed);
    const trained = before ?? (await trainOnce(seed));
    all.push(trained);
    counted += trained.counted;
    clock.counted += trained.counted;
    if (before) continue;
    clock.now += trained.counted;
    await options.keep(trained);
    const held = trained.failure === null ? 'all held' : `FAILED: ${trained.failure}`;
    const others = (trained.disturbed?.done.length ?? trained.counted) - trained.counted;
    const what = counts === 'faults' ? `${trained.counted} faults` : `${trained.counted} kills, ${others} other faults`;
    options.onTrained(`${log}, seed ${seed}: ${what}; ${held}; ${timeLeft(clock, counts)}`);
    if (trained.disturbed === null && trained.counted === 0) break; // nothing works at all
  }
  return {
    log,
    trainings: all.flatMap(({ disturbed }) => (disturbed ? [disturbed] : [])),
    failures: all.flatMap(({ failure }) => (failure === null ? [] : [failure])),
    skipped: [...skipped],
    seconds: all.reduce((sum, { seconds }) => sum + seconds, 0),
  };

  async function trainOnce(seed: number): Promise<Trained> {
    const began = performance.now();
    const plan = chaosPlan(seed % PLANS, options.updates);
    const expected = undisturbed.get(plan.seed) ?? (await outcomeAlone(laboratory, plan));
    undisturbed.set(plan.seed, expected);
    const kills = Math.min(options.each, share - counted);
    const platform = await laboratory.platform(log);
    let done = 0;
    const ended = (disturbed: Disturbed | null, failure: string | null): Trained => {
      const seconds = (performance.now() - began) / 1_000;
      const words = failure === null ? null : `seed ${seed}: ${failure}\n  again: ${again(options, log, seed, kills)}`;
      return { log, seed, disturbed, failure: words, counted: done, seconds };
    };
    try {
      const reasons = new Map(options.faults.map((fault) => [fault, whyNot(fault, log, platform.means)]));
      for (const [fault, reason] of reasons) if (reason !== null) skipped.add(`${fault}: ${reason}`);
      const possible = options.faults.filter((fault) => reasons.get(fault) === null);
      const onDone = (one: Done) => {
        if (counts === 'faults' || one.fault === 'kill') done++;
        options.onDone(log, seed, counted + done, one);
      };
      const disturbed = await trainDisturbed(
        platform,
        plan,
        expected,
        { seed, kills, roles: options.roles, faults: inTurn(possible, seed), onDone },
        platform.means,
      );
      const broken = disturbed.checks.filter((check) => check.broken > 0);
      const words = broken.map(({ promise, detail }) => `${promise} (${detail})`).join('; ');
      return ended(disturbed, broken.length === 0 ? null : words);
    } catch (error) {
      return ended(null, error instanceof Error ? error.message : String(error));
    } finally {
      await killRunning();
      await platform.close();
    }
  }
}

async function outcomeAlone(laboratory: Laboratory, plan: ReturnType<typeof chaosPlan>): Promise<Outcome> {
  const quiet = await laboratory.platform('embedded');
  return trainUndisturbed(quiet, plan).finally(() => quiet.close());
}

/** Keeps two of the heavy faults, the next two in the next training. */
function inTurn(faults: readonly Fault[], seed: number): readonly Fault[] {
  const heavy = HEAVY.filter((fault) => faults.includes(fault));
  const chosen = Array.from(
    { length: Math.min(HEAVY_EACH, heavy.length) },
    (_, i) => heavy[(seed * HEAVY_EACH + i) % heavy.length],
  );
  return faults.filter((fault) => !HEAVY.some((known) => known === fault) || chosen.some((known) => known === fault));
}

function again({ updates, roles, faults }: CampaignOptions, log: string, seed: number, kills: number): string {
  return `npm run chaos -- --kills ${kills} --each ${kills} --seed ${seed} --updates ${updates} --log ${log} --only ${[...new Set(roles)].join(',')} --faults '${faults.join(',')}'`;
}

function timeLeft({ began, counted, now, wanted }: Share['clock'], counts: string): string {
  const seconds = (performance.now() - began) / 1_000;
  const left = (seconds / Math.max(1, now)) * Math.max(0, wanted - counted);
  return `${counted} of ${wanted} ${counts} in ${seconds.toFixed(0)} s, about ${Math.ceil(left / 60)} min left`;
}
