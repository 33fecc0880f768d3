import { parseArgs } from 'node:util';
import { print, printError, table } from '../../src/cli/terminal.ts';
import { bundlePrograms } from '../../src/testing/bundle-programs.ts';
import { killRunning } from '../../src/testing/worker-process.ts';
import { openLaboratory } from '../chaos/laboratory.ts';
import { type Part, parts, runCampaign } from './campaign.ts';
import { checkStage, openStage } from './stage.ts';

const HELP = `Sends hostile input to an installation of its own: what its OpenAPI documents and its GraphQL schema allow and forbid (by Schemathesis,
which it installs), and drawn bytes on connections, replies of a model server, requests for another project, and files. The part \`record\` has clients
say colliding things of the same entities while servers are killed, and compares every reader with a model in memory; \`search\` collects
in an environment that dies, hangs, lies and answers odd things, and accounts for every rollout.

  npm run hostile -- [--seconds 480] [--seed 1] [--part NAME,…] [--log embedded|kafka]

  --part  some of: ${parts.join(', ')}
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '480' },
    seed: { type: 'string', default: '1' },
    part: { type: 'string' },
    log: { type: 'string', default: 'embedded' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else process.exitCode = await run();

async function run(): Promise<number> {
  const [seconds, seed] = [whole('--seconds', values.seconds), whole('--seed', values.seed)];
  const only = values.part === undefined ? parts : values.part.split(',').map(named);
  await bundlePrograms();
  const laboratory = await openLaboratory();
  try {
    const platform = await laboratory.platform(values.log === 'kafka' ? 'kafka' : 'embedded');
    const stage = await openStage(platform);
    try {
      const results = await runCampaign(stage, { seconds, seed, only }, ({ part, cases, fault }) => {
        printError(`${part}: ${cases} cases, ${fault === undefined ? 'all held' : 'FAULT'}`);
      });
      const { records, faults, summary } = await checkStage(platform);
      const total = results.reduce((sum, { cases }) => sum + cases, 0);
      const rows = results.map((each) => [each.part, each.cases, each.seconds.toFixed(0), each.fault ? 'FAULT' : 'held']);
      const again = (part: Part) => `npm run hostile -- --seconds ${seconds} --seed ${seed} --part ${part}`;
      print([
        ...table(['part', 'cases', 'seconds', 'verdict'], rows),
        '',
        `${total} cases, seed ${seed}; ${records} records in the log, each in the journal or its quarantine; ${summary}`,
        ...results.flatMap(({ part, fault }) =>
          fault === undefined ? [] : ['', `FAULT in ${part}:`, ...fault.split('\n'), `  again: ${again(part)}`],
        ),
        ...faults.map((fault) => `FAULT: ${fault}`),
      ]);
      return faults.length > 0 || results.some(({ fault }) => fault !== undefined) ? 1 : 0;
    } finally {
      await stage.close();
      await killRunning();
      await platform.close();
    }
  } finally {
    await laboratory.close();
  }
}

function named(name: string): Part {
  const part = parts.find((each) => each === name);
  if (part === undefined) throw new Error(`--part takes ${parts.join(', ')}, not ${name}`);
  return part;
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${option} takes a whole number from 1, not ${text}`);
  return value;
}
