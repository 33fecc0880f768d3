import './production.ts';
import { parseArgs } from 'node:util';
import { BENCHES, isBench } from './benches.ts';
import { describeOutcome, isMet } from './outcome.ts';
import { openStage } from './stage.ts';

const HELP = `Measures what the README claims, each figure with a baseline of the same run.

  npm run bench -- [${Object.keys(BENCHES).join('|')}]... [--quick] [--json]

  --quick   small sizes: shows that the benches run; the figures mean nothing
  --json    one JSON object per bench

Postgres and Kafka are started in temporary folders (Kafka needs Java 17 and Maven); DATABASE_URL and KAFKA_BROKERS name others to use.
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
  const chosen = positionals.length > 0 ? positionals.filter(isBench) : Object.keys(BENCHES).filter(isBench);
  for (const name of chosen) {
    const stage = openStage(values.quick ? 'quick' : 'full');
    try {
      const outcome = await BENCHES[name](stage);
      const judged = { ...outcome, figures: outcome.figures.map((figure) => ({ ...figure, met: isMet(figure) ?? null })) };
      process.stdout.write(`${values.json ? JSON.stringify(judged) : describeOutcome(outcome)}\n`);
      for (const failure of outcome.failures ?? []) refuse(`bench ${name}: ${failure}`);
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
