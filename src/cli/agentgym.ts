import type { Command } from 'commander';
import { SERVER_NAMES, type ServerName } from '../environments/agentgym/descriptors.ts';
import { type FoundServer, findServers } from '../environments/agentgym/find-servers.ts';
import { openAgentGym } from '../environments/agentgym/open-agentgym.ts';
import { type Lines, print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';

/** What `--open` adds to a report. */
interface Opened {
  readonly fingerprint: string;
  readonly repeats: boolean;
}

/** `espalier agentgym check`: what is behind the URL of an AgentGym server, before a run depends on it. */
export function addAgentgym(program: Command): void {
  const group = program.command('agentgym');
  const command = group
    .command('check')
    .description('identify the environment behind a URL, its capabilities, and how to name it in a plan')
    .argument('<server>', `a URL, or NAME@URL to insist on one of ${SERVER_NAMES.join(', ')}`)
    .option('--open', 'also open tasks: print the fingerprint of the server, and whether a task opens equally every time')
    .option('--timeout <seconds>', 'how long to wait for a response', numberBetween('--timeout', 0.1, 3_600), 10);
  command.action(async (text: string, { open, timeout }: { open?: boolean; timeout: number }) => {
    const { name, url } = parseServer(text);
    const timeoutMs = timeout * 1_000;
    const servers = await findServers(url, { timeoutMs, patienceMs: 0 }, name);
    const reports = [];
    for (const server of servers) reports.push({ ...server, opened: open ? await openOnce(server, timeoutMs) : null });
    if (wantsJson(command)) print(JSON.stringify(reports));
    else print(reports.map((report, i) => [i > 0 ? [''] : [], describe(report, report.opened)]));
  });
}

/** @throws Error that says what is wrong and what is right. */
function parseServer(text: string): { readonly name: ServerName | null; readonly url: string } {
  const [, prefix, address = ''] = /^(?:agentgym:)?(?:([a-z]+)@)?(.*)$/s.exec(text) ?? [];
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new Error(`${JSON.stringify(text.slice(0, 200))} is no http URL; write http://127.0.0.1:36001 or textcraft@http://…`);
  const name = SERVER_NAMES.find((known) => known === prefix) ?? null;
  if (prefix !== undefined && name === null)
    throw new Error(`there is no AgentGym environment ${JSON.stringify(prefix)}, there are ${SERVER_NAMES.join(', ')}`);
  return { name, url: `${url.origin}${url.pathname}` };
}

async function openOnce({ name, url }: FoundServer, timeoutMs: number): Promise<Opened> {
  const kind = await openAgentGym({ server: name, url, tasks: ['0'], timeoutMs, patienceMs: 0 });
  try {
    return { fingerprint: kind.fingerprint, repeats: kind.repeats };
  } finally {
    await kind.close();
  }
}

function describe(server: FoundServer, opened: Opened | null): Lines {
  const rows: (readonly [string, string])[] = [
    ['says', server.liveness],
    [
      'routes',
      `${server.routes.join(' ')} (${server.routesFrom === 'openapi' ? 'as it publishes them' : 'as tried one by one'})`,
    ],
    ['closing', server.canClose ? 'yes' : 'no /close: what a run opens stays until the server ends; a run uses each again'],
  ];
  rows.push(['hints', server.hintsRoute === null ? HINTS[server.hints] : `${HINTS[server.hints]} GET ${server.hintsRoute}`]);
  rows.push(['answers', server.deterministic ? ANSWERS.alike : ANSWERS.otherwise]);
  rows.push(['at once', STARTS[server.starts]]);
  if (server.canSnap !== null)
    rows.push(['snapping', server.canSnap ? 'yes, with ?snap=agent-r' : "no: it lacks the routes of Agent-R's patch"]);
  if (opened) {
    rows.push(['fingerprint', opened.fingerprint]);
    rows.push(['openings', opened.repeats ? 'a task opens alike every time' : 'DIFFER from time to time: replays will diverge']);
  }
  rows.push(['in a plan', `agentgym:${server.name}@${server.url.replace(/\/$/, '')}#0-99`]);
  return [`${server.title} (${server.name}) at ${server.url}`, ...rows.map(([what, is]) => `  ${what.padEnd(12)}${is}`)];
}

const STARTS = {
  together: 'a run starts several tasks at the same time',
  alone: 'a run starts one task at a time: tasks share a random state there',
};
const HINTS = {
  field: 'each answer lists the actions that are possible',
  text: 'each observation lists the actions that are possible',
  opening: 'for policies that choose from a list, such as random: the commands of the opening',
  asked: 'for policies that choose from a list, such as random: what is possible is asked at every step by',
  none: 'none: policies that choose from a list, such as random, cannot act there',
};
const ANSWERS = {
  alike: 'equal actions are answered alike: what was seen is not asked again',
  otherwise: 'equal actions may be answered otherwise: each is asked',
};
