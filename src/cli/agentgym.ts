import type { Command } from 'commander';
import { SERVER_NAMES, type ServerName } from '../environments/agentgym/descriptors.ts';
import { type FoundServer, findServers } from '../environments/agentgym/find-servers.ts';
import { openAgentGym } from '../environments/agentgym/open-agentgym.ts';
import type { ServerProbe } from '../environments/agentgym/probe-server.ts';
import type { StartProbe } from '../environments/agentgym/probe-starts.ts';
import { openEnvironment, parseEnvironment } from '../environments/open-environment.ts';
import { serveTextCraft } from '../environments/textcraft/serve-textcraft.ts';
import { runUntilStopped } from '../runtime/lifecycle.ts';
import { type Lines, print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';

/** What `--open` adds to a report. */
interface Opened {
  readonly fingerprint: string;
  readonly repeats: boolean;
  /** How tasks open that start at the same time; null where they do not open alike one after another either. */
  readonly parallel: (StartProbe & { readonly starts: 'together' | 'alone' }) | null;
  readonly measured: ServerProbe;
}

/** `espalier agentgym check`: what is behind the URL of an AgentGym server, before a run depends on it; and `serve`. */
export function addAgentgym(program: Command): void {
  const group = program.command('agentgym');
  addAgentgymServe(group);
  const command = group
    .command('check')
    .description('identify the environment behind a URL, its capabilities, and how to name it in a plan')
    .argument('<server>', `a URL, or NAME@URL to insist on one of ${SERVER_NAMES.join(', ')}`)
    .option(
      '--open',
      'also open tasks: print the fingerprint of the server, and measure whether tasks open equally, one after another and concurrently, and whether actions, copies and replays have equal results',
    )
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
    const { fingerprint, repeats, starts } = kind;
    const parallel = repeats ? { starts, ...(await kind.probeStarts()) } : null;
    return { fingerprint, repeats, parallel, measured: await kind.probe() };
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
  for (const each of describeAbilities(server, opened?.measured ?? null)) rows.push(each);
  if (opened === null) rows.push(['at once', STARTS[server.starts]]);
  if (server.canSnap !== null)
    rows.push(['snapping', server.canSnap ? 'yes, with ?snap=agent-r' : "no: it lacks the routes of Agent-R's patch"]);
  if (opened) {
    rows.push(['fingerprint', opened.fingerprint]);
    rows.push(['openings', opened.repeats ? 'a task opens alike every time' : 'DIFFER from time to time: replays will diverge']);
    if (opened.parallel) rows.push(['at once', describeParallel(opened.parallel)]);
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

/** @param  null where only what is known of the server is to be shown. */
function describeAbilities(server: FoundServer, measured: ServerProbe | null): readonly (readonly [string, string])[] {
  const seen = (is: boolean | null | undefined, alike: string, otherwise: string) =>
    is === undefined || is === null ? '' : is ? ` (measured: ${alike})` : ` (measured: ${otherwise})`;
  const copied = seen(measured?.copies, 'a copy answers as its original', 'a copy answers OTHERWISE than its original');
  const replayed = seen(measured?.replays, 'it answers as one by one', 'it answers OTHERWISE than one by one');
  const repeated = seen(measured?.repeats, 'they were', 'they were NOT');
  return [
    ['copies', server.canFork ? `yes, by /fork${copied}` : 'no /fork: a search plays the beginning of an episode again'],
    ['replays', server.canReplay ? `yes, by /replay${replayed}` : 'no /replay: a beginning is one request for each action'],
    ['hints', server.hintsRoute === null ? HINTS[server.hints] : `${HINTS[server.hints]} GET ${server.hintsRoute}`],
    [
      'answers',
      `${server.deterministic ? 'equal actions are answered alike: what was seen is not asked again' : 'equal actions may be answered otherwise: each is asked'}${repeated}`,
    ],
  ];
}

function describeParallel({ resets, differ, starts }: NonNullable<Opened['parallel']>): string {
  if (differ === 0) {
    const though = starts === 'alone' ? '; a run starts them one at a time all the same' : '';
    return `tasks that start at the same time open as they do alone (${resets} tried)${though}`;
  }
  const advice = starts === 'alone' ? 'a run starts them one at a time' : 'write ?limit=1 behind the URL in a plan';
  return `${differ} of ${resets} tasks that start at the same time open OTHERWISE: ${advice}`;
}

/** `espalier agentgym serve`: TextCraft for clients of AgentGym's server, with copies of environments, until Ctrl-C. */
export function addAgentgymServe(group: Command): void {
  const command = group
    .command('serve')
    .description("serve TextCraft by the protocol of AgentGym's server, and two requests more: POST /fork and POST /replay")
    .argument('<environment>', 'textcraft, or textcraft:FOLDER with recipe files')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <n>', 'port to listen on; 0 for a free one', numberBetween('--port', 0, 65_535), 8_900);
  command.action(async (environment: string, { host, port }: { host: string; port: number }) => {
    const { environment: name } = parseEnvironment(environment);
    if (name !== 'textcraft')
      throw new Error(
        `${name} is not served here; name textcraft or textcraft:FOLDER (published ones: python -m espalier_rl serve-published)`,
      );
    const kind = await openEnvironment(environment);
    const server = await serveTextCraft(kind, { host, port });
    print(wantsJson(command) ? JSON.stringify({ state: 'serving', url: server.url }) : `listening on ${server.url}`);
    await runUntilStopped(async () => ({
      finished: new Promise<never>(() => {}),
      close: async () => {
        await server.close();
        await kind.close();
      },
    }));
  });
}
