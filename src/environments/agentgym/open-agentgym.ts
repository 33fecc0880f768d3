import { sha256Hex } from '../../digest/sha256.ts';
import { withoutSlashes } from '../../domain/text/without-slashes.ts';
import { EnvironmentError, type EnvironmentKind } from '../environment.ts';
import { liveAgent } from '../http/live-agent.ts';
import type { CallOptions } from '../http/server-call.ts';
import { startGateOf } from '../http/start-gate.ts';
import { checkServer, type ServerReport } from './check-server.ts';
import type { ClientRevision } from './client-action.ts';
import type { ServerDescriptor } from './descriptor.ts';
import { DESCRIPTORS, INSTRUCTIONS_REVISION, type ServerName } from './descriptors.ts';
import { openEpisode, type Rewrite } from './episode.ts';
import { hintsOf } from './hints.ts';
import { LeasePool } from './lease-pool.ts';
import { OVERRIDES_ROUTES } from './overrides.ts';
import { resetRemote, type Server } from './remote.ts';

export interface AgentGymOptions {
  readonly server: ServerName;
  readonly url: string;
  /** The aliases of the tasks, in the order given: a server does not say which it has. */
  readonly tasks: readonly string[];
  readonly timeoutMs?: number;
  readonly limit?: number;
  readonly snap?: 'agent-r' | undefined;
  /**
   * For how long an unreachable server is tried again during a run, in milliseconds. Opening tries once: a wrong address is
   * reported at once.
   */
  readonly patienceMs?: number;
  /** How long a new environment is waited for while none of those at the limit is used, in milliseconds. */
  readonly idleLimitMs?: number;
  /** Sends actions as a published client would have, to reproduce its results; the bare action when not given. */
  readonly client?: ClientRevision | undefined;
}

export interface AgentGymKind extends EnvironmentKind {
  readonly report: ServerReport;
  /** Whether the server opens a task twice alike; where it does not, replays diverge. */
  readonly repeats: boolean;
  /** Whether a run starts one task at a time on this server. */
  readonly starts: ServerDescriptor['starts'];
}

export const TIMEOUT_MS = 300_000; // the default of AgentGym's clients
const PATIENCE_MS = 30_000; // ScienceWorld's server needs some 10 s to start
export const LIMIT = 16; // environments at a time: a ScienceWorld one is a Java machine of some 200 MB
const IDLE_LIMIT_MS = 1_800_000; // far above what a model may take to answer

/**
 * Opens an environment on an AgentGym server: checks that it is the right one and has what a run needs, and takes its
 * fingerprint. The seed of a reset has no meaning there; equal aliases open alike as long as the server says so. Who opens it
 * closes it.
 * @throws EnvironmentError `unreachable`, or `protocol` when another environment is behind the URL or it lacks a route.
 */
export async function openAgentGym(options: AgentGymOptions): Promise<AgentGymKind> {
  const descriptor = DESCRIPTORS[options.server];
  if (options.snap && options.server !== 'sciworld')
    throw new EnvironmentError('protocol', `snap=${options.snap} is for sciworld, not for ${options.server}: leave it out`);
  if (options.snap && options.client)
    throw new EnvironmentError('protocol', `snap=${options.snap} and client=${options.client} both rewrite actions: name one`);
  const baseUrl = baseOf(options.url, descriptor.prefix);
  const agent = liveAgent(baseUrl);
  const atOnce: CallOptions = {
    baseUrl,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    patienceMs: 0,
    agent,
  };
  const report = await checkServer(descriptor, atOnce, options.snap ? OVERRIDES_ROUTES : []).catch((error: unknown) => {
    agent.destroy();
    throw error;
  });
  const calls = { ...atOnce, patienceMs: options.patienceMs ?? PATIENCE_MS };
  const server = { descriptor, calls, canClose: report.canClose, gate: startGateOf(calls.baseUrl) };
  const pool = new LeasePool(server, { limit: options.limit ?? LIMIT, idleLimitMs: options.idleLimitMs ?? IDLE_LIMIT_MS });
  const close = async () => {
    await pool.close();
    agent.destroy();
  };
  try {
    const lease = await pool.take();
    const { hash, repeats } = await fingerprintServer(server, report, lease.id);
    await pool.giveBack(lease, 'usable');
    const tasks = new Set(options.tasks);
    const hints = descriptor.actions === 'none' ? await hintsOf(descriptor, report, calls) : null;
    const episode = { server, pool, tasks, rewrite: rewriteOf(options) };
    const kind: AgentGymKind = {
      name: descriptor.name,
      fingerprint: hash,
      taskAliases: options.tasks,
      tasks: options.tasks.map(() => ({ depth: null, split: null })), // as `openTask` says of each
      deterministic: descriptor.deterministic && repeats,
      ...(descriptor.restartCause === null ? {} : { restartCause: descriptor.restartCause }),
      report,
      repeats,
      starts: descriptor.starts,
      create: () => openEpisode(episode),
      ...(hints ? { withHints: () => ({ ...kind, create: () => openEpisode({ ...episode, hints }) }) } : {}),
      close: () => close(),
    };
    return kind;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns the address that routes are below. AgentGym's own clients are given `…/maze`; either form will do. */
export function baseOf(url: string, prefix: string): URL {
  const base = new URL(url);
  const path = withoutSlashes(base.pathname);
  base.pathname = prefix !== '' && path.endsWith(prefix) ? path.slice(0, -prefix.length) : path;
  return base;
}

function rewriteOf({ snap, client }: AgentGymOptions): Rewrite {
  if (snap) return { kind: 'snap' };
  return client ? { kind: 'client', revision: client } : { kind: 'none' };
}

/** Raised when this adapter changes what an agent sees or what a reward is: trees of different revisions are never merged. */
const ADAPTER_REVISION = 1;

/** Tasks that every server has; fixed, so that the fingerprint does not depend on the tasks of one run. */
const SAMPLE = [0, 1, 2] as const;

interface Fingerprint {
  readonly hash: string;
  /** Whether a task opened twice opens alike. The TextCraft server of 2025-03 changes its world at every reset (§7.5). */
  readonly repeats: boolean;
}

/**
 * Hashes what can be seen of a server: its name, what `GET /` says, its routes, and how three tasks open. Servers publish no
 * version, and the same number names different tasks on differently started ones (§7.6): where that is so, their openings differ.
 * A server whose openings do not repeat is known by the rest alone.
 */
async function fingerprintServer(server: Server, report: ServerReport, id: number): Promise<Fingerprint> {
  const openings = await repeatedOpenings(server, id);
  const repeats = openings !== null;
  const seen = [
    ...['agentgym', ADAPTER_REVISION, INSTRUCTIONS_REVISION],
    ...[server.descriptor.name, report.liveness, report.routes],
    repeats ? openings : 'openings do not repeat',
  ];
  return { hash: sha256Hex(JSON.stringify(seen)), repeats };
}

/**
 * Opens the sample until it has opened twice alike, three times at most: another client of a server whose tasks share one random
 * state can spoil an opening, and a spoiled fingerprint would name another world. Null when it does not repeat.
 */
async function repeatedOpenings(server: Server, id: number): Promise<readonly string[] | null> {
  const seen = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const openings: string[] = [];
    for (const task of SAMPLE) openings.push(await openingOf(server, id, task));
    const key = JSON.stringify(openings);
    if (seen.has(key)) return openings;
    seen.add(key);
  }
  return null;
}

async function openingOf(server: Server, id: number, task: number): Promise<string> {
  try {
    return (await resetRemote(server, id, task, 'alone')).observation;
  } catch (error) {
    if (error instanceof EnvironmentError && (error.code === 'unknown-task' || error.code === 'failed')) return 'no such task';
    throw error;
  }
}
