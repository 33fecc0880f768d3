import { parseArgs } from 'node:util';
import { progressLine, table } from '../../src/cli/terminal.ts';
import { bundlePrograms } from '../../src/testing/bundle-programs.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { chaosPlan } from './chaos-plan.ts';
import type { Check } from './check-record.ts';
import { ROLES, type Role } from './crew.ts';
import { DEEDS, type Deed, type Done } from './disturb.ts';
import { type Laboratory, openLaboratory } from './laboratory.ts';
import { type Disturbed, trainDisturbed, trainUndisturbed } from './train-disturbed.ts';

const HELP = `Trains policies by real processes that are killed, paused and cut off at seeded points, and checks after each training that nothing was lost,
nothing done twice, and that the weights are those of a training that nobody disturbed.

  npm run chaos -- [--kills 200] [--seed 1] [--log embedded|kafka|both] [--only ROLE,…] [--deeds kill,pause,cut,crash] [--updates 40] [--each 50]

  --kills    how many in all, for each log
  --seed     of the first training; the next one has the next seed
  --only     whom to kill and pause: ${ROLES.join(', ')}
  --deeds    kill: SIGKILL. pause: SIGSTOP, later SIGCONT. cut: every connection to the database. crash: a process of the database, which recovers
  --each     at most so many kills in one training

Ctrl-C ends it behind the training in hand, with the report of what was done.
`;

const { values } = parseArgs({
  options: {
    ...{
      kills: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      log: { type: 'string', default: 'both' },
    },
    ...{ only: { type: 'string', default: ROLES.join(',') }, deeds: { type: 'string', default: 'kill,pause' } },
    ...{
      updates: { type: 'string', default: '40' },
      each: { type: 'string', default: '50' },
      help: { type: 'boolean', default: false },
    },
  },
});
if (values.help) process.stdout.write(HELP);
else process.exitCode = await run();

async function run(): Promise<number> {
  const kills = whole('--kills', values.kills, 1);
  const [seed, updates, each] = [
    whole('--seed', values.seed, 0),
    whole('--updates', values.updates, 1),
    whole('--each', values.each, 1),
  ];
  const logs = among('--log', values.log === 'both' ? 'embedded,kafka' : values.log, ['embedded', 'kafka'] as const);
  const [roles, deeds] = [among('--only', values.only, ROLES), among('--deeds', values.deeds, DEEDS)];
  const laboratory = await openLaboratory();
  const unbundle = await bundlePrograms();
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort()).once('SIGTERM', () => stopping.abort());
  let failed = 0;
  try {
    for (const log of logs)
      failed += await campaign(laboratory, { log, kills, seed, updates, each, roles, deeds, signal: stopping.signal });
  } finally {
    await killRunning();
    await unbundle();
    await laboratory.close();
  }
  return failed > 0 ? 1 : 0;
}

interface Campaign {
  readonly log: 'embedded' | 'kafka';
  readonly kills: number;
  readonly seed: number;
  readonly updates: number;
  readonly each: number;
  readonly roles: readonly Role[];
  readonly deeds: readonly Deed[];
  /** Ends the campaign behind the training in hand. */
  readonly signal: AbortSignal;
}

/** Disturbs one training after the other until so many were killed; gives how many trainings broke a promise. */
async function campaign(
  laboratory: Laboratory,
  { log, kills, seed, updates, each, roles, deeds, signal }: Campaign,
): Promise<number> {
  const began = performance.now();
  const line = progressLine();
  const all: Disturbed[] = [];
  let [killed, failed] = [0, 0];
  for (let trial = seed; killed < kills && !signal.aborted; trial++) {
    const plan = chaosPlan(trial, updates);
    const again = `npm run chaos -- --kills ${Math.min(each, kills - killed)} --seed ${trial} --updates ${updates} --each ${each} --log ${log} --only ${roles.join(',')} --deeds ${deeds.join(',')}`;
    let of = 0;
    const onDone = ({ deed, role, records }: Done) => {
      if (deed === 'kill') of++;
      line.show(`${log}: ${killed + of} of ${kills} kills; seed ${trial}: ${deed} ${role} at ${records} records`);
    };
    const quiet = await laboratory.platform('embedded');
    const expected = await trainUndisturbed(quiet, plan).finally(() => quiet.close());
    const platform = await laboratory.platform(log);
    try {
      const disturbed = await trainDisturbed(platform, plan, expected, {
        kills: Math.min(each, kills - killed),
        roles,
        deeds,
        onDone,
      });
      all.push(disturbed);
      const broken = disturbed.checks.filter((check) => check.broken > 0);
      if (broken.length > 0) failed++;
      line.end(
        `${log}, seed ${trial}: ${of} kills, ${disturbed.done.length - of} other disturbances; ${broken.length === 0 ? 'all held' : `BROKEN: ${broken.map(({ promise, detail }) => `${promise} (${detail})`).join('; ')}`}`,
      );
      if (broken.length > 0) line.end(`  again: ${again}`);
    } catch (error) {
      failed++;
      line.end(
        `${log}, seed ${trial}: FAILED after ${of} kills: ${error instanceof Error ? error.message : String(error)}\n  again: ${again}`,
      );
      await killRunning();
      if (of === 0) break; // nothing works at all
    } finally {
      await killRunning();
      await platform.close();
    }
    killed += of;
  }
  process.stdout.write(`${report(log, all, (performance.now() - began) / 1_000, failed)}\n`);
  return failed;
}

function report(log: string, all: readonly Disturbed[], seconds: number, failed: number): string {
  const done = all.flatMap((one) => one.done);
  const count = (deed: Deed, role: Done['role']) => done.filter((one) => one.deed === deed && one.role === role).length;
  const whom = [...ROLES, 'database' as const].filter((role) => DEEDS.some((deed) => count(deed, role) > 0));
  const fallen = (role: string) => all.reduce((sum, one) => sum + (one.fallen[role] ?? 0), 0);
  const deeds = table(
    ['whom', ...DEEDS, 'ended by itself'],
    whom.map((role) => [role, ...DEEDS.map((deed) => count(deed, role)), fallen(role)]),
  );
  const promises = new Map<string, Check[]>();
  for (const check of all.flatMap(({ checks }) => checks))
    promises.set(check.promise, [...(promises.get(check.promise) ?? []), check]);
  const held = table(
    ['promise', 'trainings', 'held', 'violations'],
    [...promises].map(([promise, checks]) => [
      ...[promise, checks.length, checks.filter(({ broken }) => broken === 0).length],
      checks.reduce((sum, { broken }) => sum + broken, 0),
    ]),
  );
  const total = done.filter(({ deed }) => deed === 'kill').length;
  const repeated = all.reduce((sum, one) => sum + one.repeated, 0);
  return [
    `\n${log} log: ${total} kills in ${all.length} trainings, ${seconds.toFixed(0)} s; ${repeated} requests to the API repeated; ${failed === 0 ? 'everything held' : `${failed} trainings FAILED`}`,
    ...['', deeds, '', held],
  ].join('\n');
}

function whole(option: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) throw new Error(`${option} takes a whole number from ${least}, not ${text}`);
  return value;
}

function among<T extends string>(option: string, text: string, known: readonly T[]): readonly T[] {
  return text.split(',').map((word) => {
    const found = known.find((name) => name === word);
    if (found === undefined) throw new Error(`${option} takes ${known.join(', ')}, not ${word}`);
    return found;
  });
}
