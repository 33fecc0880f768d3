import { z } from 'zod';
import { cutText } from '../../domain/text/cut-text.ts';
import { parseJson } from '../../domain/text/parse-json.ts';
import { EnvironmentError } from '../environment.ts';
import { abridge, type CallOptions, callServer } from '../http/server-call.ts';
import type { ServerDescriptor } from './descriptor.ts';
import { DESCRIPTORS, SERVER_NAMES } from './descriptors.ts';

/** What a server can be seen to be, without creating anything on it. */
export interface ServerReport {
  readonly url: string;
  /** What `GET /` says. */
  readonly liveness: string;
  /** The routes it has, sorted: all that it publishes, or of those that the environment may use the ones that exist. */
  readonly routes: readonly string[];
  readonly routesFrom: 'openapi' | 'probes';
  readonly canClose: boolean;
}

/**
 * Looks at a server before a run: that it is there, that it is the environment that is asked for, and which routes it has. Only
 * GET requests are sent. @param extra routes that this run needs besides the environment's own.
 * @throws EnvironmentError `unreachable`, or `protocol` that says what is wrong there and, where that can be seen, what it is
 * instead.
 */
export async function checkServer(
  descriptor: ServerDescriptor,
  calls: CallOptions,
  extra: readonly string[] = [],
): Promise<ServerReport> {
  const url = calls.baseUrl.href;
  const liveness = await livenessOf(calls);
  const seen = await routesOf(descriptor, calls, extra);
  const has = (route: string) => seen.routes.includes(descriptor.prefix + route);

  const missing = [...descriptor.needs, ...(descriptor.words ? [descriptor.words] : [])].filter((route) => !has(route));
  const looksRight = liveness === descriptor.liveness && !descriptor.lacks.some(has);
  if (!looksRight || missing.length > 0) {
    const other = recognise(liveness, seen.routes);
    if (!looksRight || other) throw otherServer(descriptor, url, liveness, other);
    throw lacking(descriptor, url, missing, '');
  }
  const lacksExtra = extra.filter((route) => !has(route));
  if (lacksExtra.length > 0)
    throw lacking(descriptor, url, lacksExtra, ' (stock AgentGym has them not; Agent-R patched its server)');
  return { url, liveness, ...seen, canClose: has('/close') };
}

/**
 * Asks a server what it says of itself. @throws EnvironmentError `unreachable`, or `protocol` when it answers no such request.
 */
export async function livenessOf(calls: CallOptions): Promise<string> {
  const { status, body } = await callServer({ method: 'GET', path: '/', repeat: 'safe' }, calls);
  if (status !== 200)
    throw new EnvironmentError(
      'protocol',
      `${calls.baseUrl.href} is no AgentGym server: GET / answers HTTP ${status}; name the address that the server listens on, without a path`,
    );
  const said = z.string().safeParse(parseJson(body));
  return said.success ? said.data : cutText(body, 200);
}

type Routes = Pick<ServerReport, 'routes' | 'routesFrom'>;

/**
 * FastAPI publishes its routes; where it does not, a GET shows it: 404 for none, 405 for a POST route, 422 for one that lacks its
 * parameters.
 */
async function routesOf(descriptor: ServerDescriptor, calls: CallOptions, extra: readonly string[]): Promise<Routes> {
  const published = await callServer({ method: 'GET', path: '/openapi.json', repeat: 'safe' }, calls);
  const read = z.looseObject({ paths: z.record(z.string(), z.unknown()) }).safeParse(parseJson(published.body));
  if (published.status === 200 && read.success) return { routes: Object.keys(read.data.paths).sort(), routesFrom: 'openapi' };

  const { needs, lacks, words, prefix } = descriptor;
  const wanted = [...needs, ...lacks, ...extra, ...(words ? [words] : []), '/close'].map((route) => prefix + route);
  const routes = [];
  for (const route of wanted) if (await isRoute(route, calls)) routes.push(route);
  return { routes: routes.sort(), routesFrom: 'probes' }; // part of the fingerprint: a route that is asked for later is not among them
}

/** Whether a server has a route; it is asked by GET. */
export async function isRoute(path: string, calls: CallOptions): Promise<boolean> {
  return (await callServer({ method: 'GET', path, repeat: 'safe' }, calls)).status !== 404;
}

/** Finds the environment that a server is, by its words and routes. */
function recognise(liveness: string, routes: readonly string[]): ServerDescriptor | undefined {
  return SERVER_NAMES.map((name) => DESCRIPTORS[name]).find(
    ({ liveness: wanted, needs, lacks, prefix }) =>
      wanted === liveness &&
      needs.every((route) => routes.includes(prefix + route)) &&
      !lacks.some((route) => routes.includes(prefix + route)),
  );
}

function otherServer(descriptor: ServerDescriptor, url: string, liveness: string, other: ServerDescriptor | undefined) {
  const instead = other ? `it is ${other.title}: write agentgym:${other.name}@…` : `it says ${JSON.stringify(abridge(liveness))}`;
  return new EnvironmentError(
    'protocol',
    `${url} is not ${descriptor.title} (which says ${JSON.stringify(descriptor.liveness)}); ${instead}`,
  );
}

function lacking({ title }: ServerDescriptor, url: string, routes: readonly string[], hint: string): EnvironmentError {
  return new EnvironmentError(
    'protocol',
    `${title} at ${url} lacks the routes ${routes.join(', ')}${hint}: start a server that has them`,
  );
}
