import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connect } from '../postgres/pool.ts';
import { createTestDatabase } from '../testing/database.ts';
import type { Elsewhere } from './contract/fixture.ts';
import { openEmbeddedLog } from './embedded-log.ts';
import { describeEventLog } from './event-log.contract.ts';

const LEASE_MS = 1_500; // as short as a busy machine bears

describeEventLog(
  'embedded',
  async () => {
    const database = await createTestDatabase();
    const log = await openEmbeddedLog({ url: database.url });
    return {
      log,
      second: () => openEmbeddedLog({ url: database.url }),
      elsewhere: async (group, topic) => startElsewhere(database.url, group, topic),
      // Without its table the log cannot be read, and no new connection brings it back.
      async breakFatally() {
        await alter(database.url, "alter table log_records rename to log_records_gone; select pg_notify('espalier_log', '')");
        return () => alter(database.url, 'alter table log_records_gone rename to log_records');
      },
      async cleanup() {
        await log.close();
        await database.drop();
      },
    };
  },
  { freezes: true, gaps: 'kept' },
);

const MODULE = fileURLToPath(new URL('./embedded-log.ts', import.meta.url));
const MEMBER = `
  import { once } from 'node:events';
  import { openEmbeddedLog } from ${JSON.stringify(MODULE)};
  const [url, group, topic, leaseMs] = process.argv.slice(1);
  const log = await openEmbeddedLog({ url, leaseMs: Number(leaseMs) });
  const answer = once(process.stdin, 'data');
  await log.subscribe({ group, topics: [topic], async handle({ records, next }) {
    for (const { value } of records) console.log(Buffer.from(value).toString());
    await answer;
    return { kind: 'done', next };
  } });
`;

function startElsewhere(url: string, group: string, topic: string): Elsewhere {
  const args = ['--import', 'tsx', '--input-type=module', '-e', MEMBER, url, group, topic, String(LEASE_MS)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const texts: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => texts.push(line));
  return {
    texts: () => texts,
    answer: () => void child.stdin.write('done\n'),
    signal: (signal) => void child.kill(signal),
    async close() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function alter(url: string, sql: string): Promise<void> {
  const client = await connect(url);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
