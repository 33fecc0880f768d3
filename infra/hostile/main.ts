import { parseArgs } from 'node:util';
import { progressLine, say, table } from '../../src/cli/terminal.ts';
import { bundlePrograms } from '../../src/testing/bundle-programs.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { openLaboratory } from '../chaos/laboratory.ts';
import { checkStage, type StageState } from './check-stage.ts';
import { openStage, type Stage } from './stage.ts';
import type { Target } from './target.ts';
import { targets } from './targets.ts';
import { type Tally, tryTarget } from './try-target.ts';

const HELP = `Throws seeded hostile input at every target of the platform, whose servers are processes of their own, and checks after each case that nobody
crashed, hung or grew without bound, that what was refused has its reason and left nothing, and that good requests are still served.

  npm run hostile -- [--cases 10000] [--seed 1] [--target NAME,…] [--log embedded|kafka]

  --cases  over all targets together
  --target   some of: ${targets.map(({ name }) => name).join(', ')}
`;

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string' },
    log: { type: 'string', default: 'embedded' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else process.exitCode = await run();

async function run(): Promise<number> {
  const [cases, seed] = [whole('--cases', values.cases), whole('--seed', values.seed)];
  const log = values.log === 'kafka' ? 'kafka' : 'embedded';
  const chosen = values.target === undefined ? targets : values.target.split(',').map(named);
  await bundlePrograms();
  const laboratory = await openLaboratory();
  const began = performance.now();
  try {
    const platform = await laboratory.platform(log);
    let stage: Stage | undefined;
    try {
      stage = await openStage(platform);
      const tallies = await campaign(stage, chosen, cases, seed);
      const state = await checkStage(stage);
      await stage.close();
      say(report(tallies, state, { seed, log, seconds: (performance.now() - began) / 1_000 }));
      return tallies.some(({ broken }) => broken !== undefined) || state.broken.length > 0 ? 1 : 0;
    } finally {
      await killRunning();
      await platform.close();
    }
  } finally {
    await laboratory.close();
  }
}

async function campaign(stage: Stage, chosen: readonly Target[], cases: number, seed: number): Promise<readonly Tally[]> {
  const line = progressLine();
  const shares = chosen.reduce((sum, { share = 1 }) => sum + share, 0);
  const tallies: Tally[] = [];
  for (const target of chosen) {
    line.show(`${target.name} …`);
    const count = Math.ceil((cases * (target.share ?? 1)) / shares);
    // Half of them at least are drawn, but where a case takes minutes.
    const always = target.share === undefined ? Math.ceil(count / 2) : 'all';
    const tally = await tryTarget(stage, target, { cases: count, seed, always });
    tallies.push(tally);
    line.end(`${target.name}: ${tally.cases} cases, ${tally.broken === undefined ? 'all held' : `BROKEN: ${tally.broken}`}`);
    if (tally.broken !== undefined)
      line.end(`  again: npm run hostile -- --cases ${tally.cases} --seed ${seed} --target '${target.name}'`);
  }
  return tallies;
}

function report(
  tallies: readonly Tally[],
  state: StageState,
  of: { readonly seed: number; readonly log: string; readonly seconds: number },
): readonly string[] {
  const rows = tallies.map(({ target, cases, accepted, appended, refused, slowestMs, goodMs, peakMb, leftMb, broken }) => [
    ...[target, cases, accepted, appended, Object.values(refused).reduce((a, b) => a + b, 0)],
    ...[slowestMs.toFixed(0), goodMs.toFixed(0), peakMb.toFixed(0), leftMb.toFixed(0), broken === undefined ? 'held' : 'BROKEN'],
  ]);
  const reasons = tallies.map(({ target, refused }) => [
    target,
    Object.entries(refused)
      .map(([code, count]) => `${code} × ${count}`)
      .join(', ') || 'none',
  ]);
  const { records, quarantined, anomalies, tables, broken } = state;
  const total = tallies.reduce((sum, { cases }) => sum + cases, 0);
  const listed = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([what, count]) => `${what} × ${count}`)
      .join(', ') || 'none';
  return [
    '',
    `${total} cases, seed ${of.seed}, ${of.log} log, ${of.seconds.toFixed(0)} s`,
    '',
    ...table(
      ['target', 'cases', 'accepted', 'appended', 'refused', 'slowest ms', 'good ms', 'peak +MB', 'left +MB', 'verdict'],
      rows,
    ),
    '',
    ...table(['target', 'refused, by reason'], reasons),
    '',
    `${records} records in the log, each in the journal or its quarantine; ${tables} tables equal their fold; set aside: ${listed(quarantined)}; anomalies: ${listed(anomalies)}`,
    ...broken.map((each) => `BROKEN: ${each}`),
    ...tallies.flatMap(({ target, broken: rule }) => (rule === undefined ? [] : [`BROKEN: ${target}: ${rule}`])),
  ];
}

function named(name: string): Target {
  const found = targets.find((target) => target.name === name);
  if (!found) throw new Error(`--target takes ${targets.map((target) => target.name).join(', ')}, not ${name}`);
  return found;
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${option} takes a whole number from 1, not ${text}`);
  return value;
}
