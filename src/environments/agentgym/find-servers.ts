import { EnvironmentError } from '../environment.ts';
import type { CallOptions } from '../http/server-call.ts';
import { checkServer, livenessOf, type ServerReport } from './check-server.ts';
import type { ServerDescriptor } from './descriptor.ts';
import { DESCRIPTORS, SERVER_NAMES, type ServerName } from './descriptors.ts';
import { hintsOf } from './hints.ts';
import { baseOf } from './open-agentgym.ts';
import { OVERRIDES_ROUTES } from './overrides.ts';

/** An environment that a server offers. */
export interface FoundServer extends ServerReport {
  readonly name: ServerName;
  readonly title: string;
  /**
   * Whether it has the routes of Agent-R's patch, without which actions cannot be snapped to valid ones; null where that means
   * nothing.
   */
  readonly canSnap: boolean | null;
  /** What is known of every server of that name: whether tasks may start at the same time, … */
  readonly starts: ServerDescriptor['starts'];
  /** … whether equal actions after an equal opening are answered alike, … */
  readonly deterministic: boolean;
  /**
   * … and where the actions that are possible are listed: in answers, or for policies that choose from a list in the opening or
   * by a route that is asked.
   */
  readonly hints: ServerDescriptor['actions'] | 'opening' | 'asked';
  /** The route that is asked for them. */
  readonly hintsRoute: string | null;
}

/**
 * Looks which environments are behind a URL; only GET requests are sent. LMRL-Gym is two. @param name the only one to look for.
 * @throws EnvironmentError `unreachable`, or `protocol` that says what is there instead.
 */
export async function findServers(
  url: string,
  calls: Omit<CallOptions, 'baseUrl'>,
  name: ServerName | null = null,
): Promise<readonly FoundServer[]> {
  if (name !== null) return [await look(name, url, calls)];
  const root = rootOf(url);
  const liveness = await livenessOf({ ...calls, baseUrl: root });
  const likely = SERVER_NAMES.filter((each) => DESCRIPTORS[each].liveness === liveness);
  const found: FoundServer[] = [];
  const lacking: EnvironmentError[] = [];
  for (const each of likely) {
    try {
      found.push(await look(each, root.href, calls));
    } catch (error) {
      if (!(error instanceof EnvironmentError) || error.code !== 'protocol') throw error;
      lacking.push(error);
    }
  }
  if (found.length > 0) return found;
  throw (
    lacking[0] ??
    new EnvironmentError(
      'protocol',
      `${url} is no AgentGym server that we know: it says ${JSON.stringify(liveness.slice(0, 200))}; known are ${SERVER_NAMES.join(', ')} (one of your own: server:URL)`,
    )
  );
}

async function look(name: ServerName, url: string, calls: Omit<CallOptions, 'baseUrl'>): Promise<FoundServer> {
  const descriptor = DESCRIPTORS[name];
  const { title, prefix, starts, deterministic, actions } = descriptor;
  const at = { ...calls, baseUrl: baseOf(url, prefix) };
  const report = await checkServer(descriptor, at);
  const canSnap = name === 'sciworld' ? await hasOverrides(descriptor, at) : null;
  const hints = actions === 'none' ? await hintsOf(descriptor, report, at) : null;
  const where = hints === null ? actions : hints.route === null ? 'opening' : 'asked';
  return { ...report, name, title, canSnap, starts, deterministic, hints: where, hintsRoute: hints?.route ?? null };
}

async function hasOverrides(descriptor: ServerDescriptor, calls: CallOptions): Promise<boolean> {
  try {
    await checkServer(descriptor, calls, OVERRIDES_ROUTES);
    return true;
  } catch (error) {
    if (error instanceof EnvironmentError && error.code === 'protocol') return false;
    throw error;
  }
}

/** The words of a server stand at its root, be the URL of one environment on it given or not. */
function rootOf(url: string): URL {
  return SERVER_NAMES.reduce((base, name) => baseOf(base.href, DESCRIPTORS[name].prefix), new URL(url));
}
