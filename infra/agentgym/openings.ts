import { openAgentGym } from '../../src/environments/agentgym/open-agentgym.ts';
import { parseTaskList } from '../../src/environments/agentgym/task-number.ts';
import type { TaskStart } from '../../src/environments/environment.ts';

const HELP = `Compares how tasks of a TextCraft server of AgentGym's open when several are started at a time, as a collection does, with
how each opens when nothing else starts.

  npx tsx infra/agentgym/openings.ts URL [TASKS] [AT_ONCE]     such as http://127.0.0.1:36001 0-543 8
`;

const [url, tasks = '0-543', atOnce = '8'] = process.argv.slice(2);
if (url === undefined) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else process.exitCode = (await compare(url, parseTaskList(tasks), Number(atOnce))) === 0 ? 0 : 1;

/** Returns how many tasks open otherwise. */
async function compare(url: string, aliases: readonly string[], atOnce: number): Promise<number> {
  const kind = await openAgentGym({ server: 'textcraft', url, tasks: aliases, limit: atOnce });
  try {
    const alone = new Map<string, string>();
    for (const alias of aliases) alone.set(alias, await opening({ alias, seed: 0, mode: 'alone' }));
    const together = new Map<string, string>();
    const queue = aliases.values();
    const began = performance.now();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const alias of queue) together.set(alias, await opening({ alias, seed: 0 }));
      }),
    );
    const seconds = (performance.now() - began) / 1_000;
    const wrong = aliases.filter((alias) => alone.get(alias) !== together.get(alias));
    const distinct = new Set(alone.values()).size;
    process.stdout.write(
      `${aliases.length} tasks (${distinct} openings), ${atOnce} at a time in ${seconds.toFixed(1)} s: ${wrong.length} wrong openings${wrong.map((alias) => ` ${alias}`).join('')}\n`,
    );
    return wrong.length;
  } finally {
    await kind.close();
  }

  async function opening(task: TaskStart): Promise<string> {
    const environment = await kind.create();
    try {
      return (await environment.reset(task)).observation;
    } finally {
      await environment.close();
    }
  }
}
