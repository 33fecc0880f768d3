import { parseArgs } from 'node:util';
import { progressLine } from '../../src/cli/terminal.ts';
import { bundlePrograms } from '../../src/testing/bundle-programs.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { runCampaign, writeReport } from './campaign.ts';
import { FAULT_NAMES, FAULTS } from './faults.ts';
import { openLaboratory } from './laboratory.ts';
import { ROLES, type Role } from './process-group.ts';

const HELP = `Trains policies by real processes that are killed, paused and cut off at seeded points, whose servers are killed, filled and restored, and checks after
each training that nothing was lost, nothing done twice, and that the weights are those of a training that nobody disturbed. During each training events come
before their parents and are requeued from quarantine, and read models are rebuilt, one after the other.

  npm run chaos -- [--kills 200] [--seed 1] [--log embedded|kafka|both] [--only ROLE,…] [--faults FAULT,…] [--updates 20] [--each 50]

  --kills    how many in all, shared among the logs
  --seed     of the first training; the next one has the next seed
  --only     what to kill and pause: ${ROLES.join(', ')}
  --faults   what is done besides kills; all of these by default:
${Object.entries(FAULTS)
  .map(([fault, what]) => `             ${fault.padEnd(17)}${what}`)
  .join('\n')}
  --each     at most so many kills in one training

Ctrl-C ends it after the current training, with the report of what was done.
`;

/** Nine of eleven kills fall on those three: they hold what no other process knows. */
const WEIGHTS: Readonly<Record<Role, number>> = { collector: 6, batcher: 6, trainer: 6, projector: 2, relay: 1, api: 1 };

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    log: { type: 'string', default: 'both' },
    only: { type: 'string', default: ROLES.join(',') },
    faults: { type: 'string', default: FAULT_NAMES.join(',') },
    updates: { type: 'string', default: '20' },
    each: { type: 'string', default: '50' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else process.exitCode = await run();

async function run(): Promise<number> {
  const only = among('--only', values.only, ROLES);
  const stopping = new AbortController();
  const options = {
    kills: whole('--kills', values.kills, 1),
    seed: whole('--seed', values.seed, 0),
    updates: whole('--updates', values.updates, 1),
    each: whole('--each', values.each, 1),
    logs: among('--log', values.log === 'both' ? 'embedded,kafka' : values.log, ['embedded', 'kafka'] as const),
    roles: only.flatMap((role) => Array.from({ length: WEIGHTS[role] }, () => role)),
    faults: among('--faults', values.faults, FAULT_NAMES),
    signal: stopping.signal,
  };
  const line = progressLine();
  await bundlePrograms();
  const laboratory = await openLaboratory();
  process.once('SIGINT', () => stopping.abort()).once('SIGTERM', () => stopping.abort());
  try {
    const findings = await runCampaign(laboratory, {
      ...options,
      onDone: (log, seed, kills, { fault, subject, how, records }) =>
        line.show(
          `${log}, seed ${seed}: ${kills} kills; ${fault} ${subject}${how === '' ? '' : ` (${how})`} at ${records} records`,
        ),
      onTrained: (text) => line.end(text),
    });
    process.stdout.write(`${writeReport(findings)}\n`);
    return findings.some(({ failures }) => failures.length > 0) ? 1 : 0;
  } finally {
    await killRunning();
    await laboratory.close();
  }
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
