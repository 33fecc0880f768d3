import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startKafka } from '../../kafka/start-kafka.ts';
import { type Compared, compare, type Figures } from './compare.ts';
import { WORKS, type Work } from './works.ts';

const names = Object.keys(WORKS) as Work[];
const HELP = `Compares this checkout with an earlier one, round by round in turn.

  npm run bench:paired -- --before FOLDER [--work NAME]... [--pairs N] [--trees N] [--quick]

  --before  an earlier checkout with its dependencies installed: git worktree add FOLDER COMMIT && (cd FOLDER && npm ci)
  --work    ${names.map((name) => `"${name}"`).join(', ')}; all by default
  --pairs   rounds of each checkout (default 8), after one that warms up
  --trees   trees of a round (default 300, of 106 events each): fewer where a round takes longer than five minutes
  --profile a folder for CPU profiles of node, two for each work
  --quick   small rounds: shows that it runs; the figures mean nothing

CPU is that of node and of all processes of the Postgres server together, per event. A ratio above 1 says that this checkout does
better; each is the median over the pairs, so that a loaded machine meets both sides alike.
`;

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    work: { type: 'string', multiple: true },
    pairs: { type: 'string', default: '8' },
    trees: { type: 'string' },
    profile: { type: 'string' },
    quick: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const unknown = (values.work ?? []).find((name) => !names.includes(name as Work));
const pairs = Number(values.pairs);
const trees = Number(values.trees ?? (values.quick ? 2 : 300));
if (values.help) process.stdout.write(HELP);
else if (values.before === undefined) refuse('--before must name the folder of an earlier checkout');
else if (unknown !== undefined) refuse(`there is no work ${unknown}; there are ${names.join(', ')}`);
else if (!Number.isInteger(pairs) || pairs < 1) refuse(`--pairs must be an integer from 1, not ${values.pairs}`);
else if (!Number.isInteger(trees) || trees < 1) refuse(`--trees must be an integer from 1, not ${values.trees}`);
else await run(resolve(values.before));

async function run(before: string): Promise<void> {
  const kafka = await startKafka();
  try {
    for (const work of (values.work as Work[] | undefined) ?? names) {
      const profile = values.profile && resolve(values.profile);
      const size = values.quick ? 'quick' : 'full';
      process.stdout.write(
        describe(await compare({ before, after: process.cwd(), work, pairs, trees, size, brokers: kafka.brokers, profile })),
      );
    }
  } finally {
    await kafka.stop();
  }
}

function describe({ work, events, cpu, rate, before, after }: Compared): string {
  const side = ({ node, postgres, eventsPerSecond, waited }: Figures) =>
    `${(node + postgres).toFixed(1)} us of CPU per event (node ${node.toFixed(1)}, Postgres ${postgres.toFixed(1)}), ${Math.round(eventsPerSecond).toLocaleString('en')} events/s${waited ? `, waited ${waited.p50.toFixed(1)} ms, p99 ${waited.p99.toFixed(1)} ms` : ''}`;
  return [
    `${work}: ratio of CPU ${cpu.toFixed(3)}, of events/s ${rate.toFixed(3)}`,
    `  before: ${side(before)}`,
    `  now:    ${side(after)}`,
    `  (${pairs} pairs of ${events} events; cores ${availableParallelism()}, load average ${loadavg()[0]?.toFixed(1)}; node ${process.versions.node})\n`,
  ].join('\n');
}

function refuse(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
