import { sha256Hex } from '../../digest/sha256.ts';
import { EnvironmentError } from '../environment.ts';
import type { ServerReport } from './check-server.ts';
import { INSTRUCTIONS_REVISION } from './instructions.ts';
import { resetRemote, type Server } from './remote.ts';

/** Raised when this adapter changes what an agent sees or what a reward is: trees of different revisions are never merged. */
const ADAPTER_REVISION = 1;

/** Tasks that every server has; fixed, so that the fingerprint does not depend on the tasks of one run. */
const SAMPLE = [0, 1, 2] as const;

export interface Fingerprint {
  readonly hash: string;
  /** Whether a task opened twice opens alike. The TextCraft server of 2025-03 changes its world at every reset (§7.5). */
  readonly repeats: boolean;
}

/**
 * Hashes what can be seen of a server: its name, what `GET /` says, its routes, and how three tasks open. Servers publish no
 * version, and the same number names different tasks on differently started ones (§7.6): where that is so, their openings differ.
 * A server whose openings do not repeat is known by the rest alone.
 */
export async function fingerprintServer(server: Server, report: ServerReport, id: number): Promise<Fingerprint> {
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
