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
  /** In all, shared evenly among the logs. */
  readonly kills: number;
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
  const share = Math.ceil(options.kills / options.logs.length);
  const clock = { began: performance.now(), killed: 0, wanted: share * options.logs.length };
  const findings: Findings[] = [];
  for (const log of options.logs) findings.push(await overOneLog(laboratory, options, { log, share, undisturbed, clock }));
  return findings;
}

interface Share {
  readonly log: 'embedded' | 'kafka';
  readonly share: number;
  readonly undisturbed: Map<number, Outcome>;
  readonly clock: { readonly began: number; killed: number; readonly wanted: number };
}

async function overOneLog(
  laboratory: Laboratory,
  options: CampaignOptions,
  { log, share, undisturbed, clock }: Share,
): Promise<Findings> {
  const began = performance.now();
  const [trainings, failures, skipped]: [Disturbed[], string[], Set<string>] = [[], [], new Set()];
  let killed = 0;
  for (let seed = options.seed; killed < share && !options.signal.aborted; seed++) {
    const plan = chaosPlan(seed % PLANS, options.updates);
    const expected = undisturbed.get(plan.seed) ?? (await outcomeAlone(laboratory, plan));
    undisturbed.set(plan.seed, expected);
    const kills = Math.min(options.each, share - killed);
    const platform = await laboratory.platform(log);
    let of = 0;
    try {
      const reasons = new Map(options.faults.map((fault) => [fault, whyNot(fault, log, platform.means)]));
      for (const [fault, reason] of reasons) if (reason !== null) skipped.add(`${fault}: ${reason}`);
      const possible = options.faults.filter((fault) => reasons.get(fault) === null);
      const onDone = (done: Done) => {
        if (done.fault === 'kill') of++;
        options.onDone(log, seed, killed + of, done);
      };
      const disturbed = await trainDisturbed(
        platform,
        plan,
        expected,
        { seed, kills, roles: options.roles, faults: inTurn(possible, seed), onDone },
        platform.means,
      );
      trainings.push(disturbed);
      const broken = disturbed.checks.filter((check) => check.broken > 0);
      if (broken.length > 0)
        failures.push(
          `${broken.map(({ promise, detail }) => `${promise} (${detail})`).join('; ')}\n  again: ${again(options, log, seed, kills)}`,
        );
      options.onTrained(
        `${log}, seed ${seed}: ${of} kills, ${disturbed.done.length - of} other faults; ${broken.length === 0 ? 'all held' : `BROKEN: ${failures.at(-1)}`}; ${timeLeft(clock, of)}`,
      );
    } catch (error) {
      failures.push(`${error instanceof Error ? error.message : String(error)}\n  again: ${again(options, log, seed, kills)}`);
      options.onTrained(`${log}, seed ${seed}: FAILED after ${of} kills: ${failures.at(-1)}`);
      if (of === 0) break; // nothing works at all
    } finally {
      await killRunning();
      await platform.close();
    }
    killed += of;
    clock.killed += of;
  }
  return { log, trainings, failures, skipped: [...skipped], seconds: (performance.now() - began) / 1_000 };
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

function timeLeft({ began, killed, wanted }: Share['clock'], more: number): string {
  const seconds = (performance.now() - began) / 1_000;
  const left = (seconds / Math.max(1, killed + more)) * (wanted - killed - more);
  return `${killed + more} of ${wanted} kills in ${seconds.toFixed(0)} s, about ${Math.ceil(left / 60)} min left`;
}
