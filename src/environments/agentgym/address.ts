import { EnvironmentError } from '../environment.ts';
import { SERVER_NAMES, type ServerName } from './descriptor.ts';
import { parseTaskList } from './task-number.ts';

/** How a plan names an environment on an AgentGym server. */
export const AGENTGYM_FORM = 'agentgym:NAME@URL#TASKS (as in agentgym:textcraft@http://127.0.0.1:36001#0-99)';

export interface AgentGymAddress {
  readonly server: ServerName;
  readonly url: string;
  /** The aliases of the tasks, in the order given: a server does not say which it has. */
  readonly tasks: readonly string[];
  readonly timeoutMs?: number;
  readonly limit?: number;
  readonly snap?: 'agent-r';
}

/**
 * Reads a name such as `agentgym:sciworld@http://host:36001?timeout=600&limit=4&snap=agent-r#0-199`: `timeout` in seconds for one
 * request, `limit` environments at a time, `snap` to replace actions as Agent-R does. @throws EnvironmentError that says what is
 * wrong and what is right.
 */
export function parseAddress(text: string): AgentGymAddress {
  const wrong = (what: string) => new EnvironmentError('unknown-task', `${what}; write ${AGENTGYM_FORM}`);
  const [, name = '', address = ''] = /^agentgym:([^@]*)@(.*)$/s.exec(text) ?? [];
  const server = SERVER_NAMES.find((known) => known === name);
  if (server === undefined)
    throw wrong(`there is no AgentGym environment ${JSON.stringify(name)}, there are ${SERVER_NAMES.join(', ')}`);
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw wrong(`${JSON.stringify(address.slice(0, 200))} is no http URL`);
  if (url.hash.length < 2) throw wrong(`say which tasks of ${name} there are, as in #0-99`);
  const options = [...url.searchParams].map(([key, value]) => optionOf(key, value, wrong));
  try {
    const tasks = parseTaskList(decodeURIComponent(url.hash.slice(1)));
    return Object.assign({ server, url: `${url.origin}${url.pathname}`, tasks }, ...options);
  } catch (cause) {
    throw wrong(cause instanceof Error ? cause.message : String(cause));
  }
}

function optionOf(key: string, value: string, wrong: (what: string) => Error): Partial<AgentGymAddress> {
  if (key === 'snap' && value === 'agent-r') return { snap: value };
  const number = /^[1-9]\d{0,5}$/.test(value) ? Number(value) : null;
  if (key === 'timeout' && number !== null) return { timeoutMs: number * 1_000 };
  if (key === 'limit' && number !== null) return { limit: number };
  throw wrong(`${key}=${value} is no option: there are timeout=SECONDS, limit=ENVIRONMENTS and snap=agent-r`);
}
