import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import type { Process, Stage } from './stage.ts';
import { Broken, type Outcome, type Target } from './target.ts';

/** What became of the cases of one target. */
export interface Tally {
  readonly target: string;
  readonly cases: number;
  readonly accepted: number;
  readonly appended: number;
  /** How many were refused, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  /** The slowest of the good requests that were sent in between, ms. */
  readonly goodMs: number;
  /** By how much the resident memory of the process was above that before the first case: at most, and behind the last, MB. */
  readonly peakMb: number;
  readonly leftMb: number;
  /** The rule that did not hold, with the case; none when all held. */
  readonly broken: string | undefined;
}

const GOOD_EVERY = 20; // cases
const LONGEST_MS = 330_000; // a client that reads nothing is held for 240 s
const GOOD_MS = 10_000;
const GROWTH_MB = 768; // bodies in flight may take 256 MB as bytes, parsed some three times that

export interface Volley {
  readonly cases: number;
  /** The same seed yields the same cases. */
  readonly seed: number;
  /** Of the cases that are always tried: all, or about so many, evenly chosen. */
  readonly always: 'all' | number;
}

/** Throws so many cases at a target. */
export async function tryTarget(stage: Stage, target: Target, { cases, seed, always }: Volley): Promise<Tally> {
  const { process } = target.way;
  if (process === 'inside') await stage.revive();
  const pids = pidsOf(stage);
  const said = saidBy(stage);
  const before = forgetPeak(stage.pid(process));
  const refused = new Map<string, number>();
  let [done, accepted, appended, slowestMs, goodMs] = [0, 0, 0, 0, 0];

  const property = fc.asyncProperty(target.cases, async (sent) => {
    const records = await stage.records();
    const began = performance.now();
    const outcome = await within(send(stage, target, sent));
    const took = performance.now() - began;
    slowestMs = Math.max(slowestMs, took);
    const more = (await stage.records()) - records;
    const reported = outcome.kind === 'accepted' ? outcome.appended : 0;
    if (more !== reported) throw new Broken(`the log grew by ${more} where the target reported ${reported}`);
    appended += reported;
    if (outcome.kind === 'accepted') accepted++;
    else refused.set(outcome.code, (refused.get(outcome.code) ?? 0) + 1);
    if (done++ % GOOD_EVERY === 0) goodMs = Math.max(goodMs, await stage.good());
    if (goodMs > GOOD_MS) throw new Broken(`a good request took ${goodMs.toFixed(0)} ms`);
    const now = pidsOf(stage);
    if (now !== pids) throw new Broken(`a process ended: ${pids} before, ${now} now`);
  });
  const step = always === 'all' ? 1 : Math.ceil(target.always.length / always);
  const examples = target.always.filter((_, i) => i % step === seed % step).map((one): [unknown] => [one]);
  const report = await fc
    .check(property, { seed, numRuns: Math.max(cases, examples.length), examples, endOnFailure: true })
    .finally(() => target.close?.());
  const after = memoryOf(stage.pid(process));
  const peakMb = after.peak - before;
  const faults = [
    ...(report.failed
      ? [`${messageOf(report.errorInstance)}; case ${shown(report.counterexample?.[0])}; seed ${report.seed}`]
      : []),
    ...(peakMb > GROWTH_MB ? [`the process grew by ${peakMb.toFixed(0)} MB`] : []),
    ...complaints(stage, said),
  ];
  return {
    target: target.name,
    cases: done,
    accepted,
    appended,
    refused: Object.fromEntries([...refused].sort()),
    slowestMs,
    goodMs,
    peakMb,
    leftMb: after.resident - before,
    broken: faults.length === 0 ? undefined : faults.join('; '),
  };
}

async function send(stage: Stage, target: Target, sent: unknown): Promise<Outcome> {
  const { way } = target;
  return way.process === 'inside' ? stage.inside().ask(target.name, sent) : way.send(stage, sent);
}

/** A target has its own limits, shorter than this one; what outlives this is stuck. */
async function within(outcome: Promise<Outcome>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Broken('stuck: the case did not end')), LONGEST_MS);
  });
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer));
}

const WATCHED: readonly Process[] = ['api', 'policy', 'projector', 'inside'];

function pidsOf(stage: Stage): string {
  return WATCHED.map((name) => `${name} ${stage.pid(name) ?? 'gone'}`).join(', ');
}

/** How much each process had said. */
function saidBy(stage: Stage): ReadonlyMap<Process, number> {
  return new Map(WATCHED.map((name) => [name, stage.stderr(name).length]));
}

/** What processes say of themselves where nothing they are asked may make them say it: bugs, warnings of node, stacks. */
function complaints(stage: Stage, before: ReadonlyMap<Process, number>): readonly string[] {
  const bad = /"level":"(error|warn)"|unhandled|uncaught|MaxListenersExceeded|^\s+at /i;
  return WATCHED.flatMap((name) => {
    const line = stage
      .stderr(name)
      .slice(before.get(name))
      .split('\n')
      .find((each) => bad.test(each));
    return line === undefined ? [] : [`${name} says ${line.slice(0, 500)}`];
  });
}

/** Forgets the peak of a process, and returns its resident memory, MB. */
function forgetPeak(pid: number | undefined): number {
  // proc(5): resets VmHWM to what is resident now
  if (existsSync(`/proc/${pid}/clear_refs`)) writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return memoryOf(pid).resident;
}

function memoryOf(pid: number | undefined): { readonly resident: number; readonly peak: number } {
  if (pid === undefined || !existsSync(`/proc/${pid}/status`)) return { resident: 0, peak: 0 }; // only Linux reports it so
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (field: string) => Number(new RegExp(`${field}:\\s*(\\d+)`).exec(status)?.[1] ?? 0) / 1_024;
  return { resident: mb('VmRSS'), peak: mb('VmHWM') };
}

function messageOf(error: unknown): string {
  return error instanceof Broken ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function shown(sent: unknown): string {
  const text = fc.stringify(
    sent instanceof Uint8Array || typeof sent !== 'object' || sent === null
      ? textOf(sent)
      : Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, textOf(value)])),
  );
  return text.length > SHOWN ? `${text.slice(0, SHOWN / 2)} … ${text.slice(-SHOWN / 2)}` : text;
}

const SHOWN = 800; // characters of a case

/** Bytes as a reader sees them. */
function textOf(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
}
