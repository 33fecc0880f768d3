import './production.ts';
import { parseArgs } from 'node:util';
import { describeOutcome, isMet } from './bench-result.ts';
import { BENCHES, COMPARING, isBench } from './benches.ts';
import { openStage } from './stage.ts';

const HELP = `Measures the floors below which the speed may not fall, each figure with a baseline of the same run; exits 1 where one is not met.

  npm run bench -- [${Object.keys(BENCHES).join('|')}]... [--quick] [--json]

  --quick   small sizes: shows that the benches run; the figures mean nothing
  --json    one JSON object per bench

Without names it runs all but ${COMPARING.join(' and ')}, which install other systems from PyPI. Postgres and Kafka are started in temporary folders (Kafka
needs Java 17 and Maven); DATABASE_URL and KAFKA_BROKERS name others to use.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean' } },
});
const unknown = positionals.find((name) => !isBench(name));
if (values.help) process.stdout.write(HELP);
else if (unknown !== undefined) refuse(`there is no bench ${unknown}; there are ${Object.keys(BENCHES).join(', ')}`);
else await run();

async function run(): Promise<void> {
  const all = Object.keys(BENCHES).filter((name) => !COMPARING.includes(name));
  for (const name of (positionals.length > 0 ? positionals : all).filter(isBench)) {
    const stage = openStage(values.quick ? 'quick' : 'full');
    try {
      const outcome = await BENCHES[name](stage);
      const judged = { ...outcome, figures: outcome.figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null })) };
      process.stdout.write(`${values.json ? JSON.stringify(judged) : describeOutcome(outcome)}\n`);
      const missed = values.quick ? [] : judged.figures.filter(({ met }) => met === false);
      if (missed.length > 0) refuse(`bench ${name}: ${missed.length} of ${judged.figures.length} figures below their floor`);
    } catch (error) {
      refuse(`bench ${name}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      await stage.close();
    }
  }
}

function refuse(message: string): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
