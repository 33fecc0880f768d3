import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { address, oneOf, text, whole } from '../option-kinds.ts';
import { withRestart } from '../with-restart.ts';
import { CLIENT_REVISIONS } from './client-action.ts';
import { SERVER_NAMES } from './descriptors.ts';
import { LIMIT, openAgentGym, TIMEOUT_MS } from './open-agentgym.ts';

/** An AgentGym server, as in `agentgym:sciworld@http://host:36001?timeout=600&limit=4&snap=agent-r#0-199`. */
export const agentgym = defineEnvironment({
  name: 'agentgym',
  summary: 'an environment on an AgentGym server, over HTTP',
  options: z.strictObject({
    server: oneOf(SERVER_NAMES, 'the environment behind the address'),
    url: address('the address of the server').transform(withoutQuery),
    tasks: text('TASKS', 'the tasks, as in 0-99,300: a server does not say which it has').transform((tasks, { addIssue }) => {
      try {
        return parseTaskList(decodeURIComponent(tasks));
      } catch (error) {
        addIssue(`cannot be read: ${error instanceof Error ? error.message : error}`);
        return z.NEVER;
      }
    }),
    timeout: whole(1, 999_999, 'the limit for one request, in seconds').default(TIMEOUT_MS / 1_000),
    limit: whole(1, 999_999, 'environments at a time').default(LIMIT),
    snap: oneOf(['agent-r'], 'replaces actions as Agent-R does (sciworld)').optional(),
    client: oneOf(CLIENT_REVISIONS, 'sends actions as the published Python client of that month would').optional(),
  }),
  syntax: {
    form: 'agentgym:SERVER@URL[?OPTION=VALUE&…]#TASKS',
    read: (rest) => {
      const [, server = '', address = ''] = /^([^@]*)@(.*)$/s.exec(rest) ?? [];
      const [, url = '', query = '', tasks = ''] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(address) ?? [];
      return { ...Object.fromEntries(new URLSearchParams(query)), server, url, ...(tasks === '' ? {} : { tasks }) };
    },
  },
  open: async ({ timeout, ...options }) => withRestart(await openAgentGym({ ...options, timeoutMs: timeout * 1_000 })),
});

/** The parameters of the address are options of this environment. */
function withoutQuery(text: string): string {
  const url = new URL(text);
  url.search = '';
  url.hash = '';
  return url.href;
}

/**
 * Returns an address whose actions are sent as Agent-R's were: by the client of 2025-03, unless the address says how. The address
 * of another environment stays as it is.
 */
export function agentRAction(address: string): string {
  const [, server = '', query = '', tasks = ''] = /^(agentgym:[^?#]*)(\?[^#]*)?(#.*)?$/s.exec(address) ?? [];
  if (server === '' || /[?&](client|snap)=/.test(query)) return address;
  return `${server}${query === '' ? '?' : `${query}&`}client=2025-03${tasks}`;
}

/** The aliases of AgentGym's tasks are decimal numbers; which there are, a server does not say. */

const LARGEST = 2_147_483_647;
const MOST = 1_000_000;

/** Reads `0-199,300` as the list of the tasks it names, in that order. @throws Error that says what is wrong. */
export function parseTaskList(text: string): readonly string[] {
  const listed = new Set<string>();
  for (const part of text.split(',')) {
    const [, from = '', to = from] = /^\s*(\d{1,10})(?:-(\d{1,10}))?\s*$/.exec(part) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (from === '' || first > last || last > LARGEST)
      throw new Error(`${JSON.stringify(part)} is no task number or range such as 0-199`);
    if (listed.size + (last - first) >= MOST) throw new Error(`more than ${MOST} tasks are named`);
    for (let task = first; task <= last; task++) listed.add(String(task));
  }
  return [...listed];
}
