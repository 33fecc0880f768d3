import { createHash } from 'node:crypto';
import { derivedId } from '../../events/derived-id.ts';
import { type Episode, parseAgentTrajItem } from './agent-traj-item.ts';
import { badRow, readRows } from './read-rows.ts';

/** What a reader of an AgentTraj file cannot know of it and the file does not say. Part of the run's identity where it shapes the events. */
export interface AgentTrajOptions {
  /** The run to import into; null derives one from the file's content and these options. */
  readonly runId: string | null;
  /** The environment of every item; null reads it from `item_id`. */
  readonly environment: string | null;
  /** Names the server that numbered the tasks: tasks of different fingerprints are different tasks. */
  readonly serverFingerprint: string;
  readonly split: string | null;
  readonly policy: { readonly policyId: string; readonly version: number };
  /** What a full reward is in the file (100 for SciWorld's scores): the value recorded is the file's divided by it, the raw one is kept. */
  readonly rewardScale: number;
  /**
   * When the episodes happened, if it is known. The files do not say, and a clock here would make two imports of one file differ, so
   * the default is the beginning of time as computers count it: visibly no date.
   */
  readonly recordedAt: string;
}

export const agentTrajDefaults: AgentTrajOptions = {
  runId: null,
  environment: null,
  serverFingerprint: 'unrecorded',
  split: null,
  policy: { policyId: 'agent-traj', version: 0 },
  rewardScale: 1,
  recordedAt: '1970-01-01T00:00:00.000Z',
};

/** What the whole file says, before any event is made of it. Held in memory: one entry per task. */
export interface Survey {
  readonly sha256: string;
  readonly environments: readonly string[];
  /** Task key → its number of episodes. */
  readonly episodes: ReadonlyMap<string, number>;
  readonly withoutConversation: number;
  /** The one acknowledgement of the file; null when it has none or several. */
  readonly acknowledgement: string | null;
}

/** Reads the file once and checks every row. @throws DatasetError `bad-row` with the line; `cannot-read`. */
export async function surveyAgentTraj(path: string, { environment }: AgentTrajOptions): Promise<Survey> {
  const hash = createHash('sha256');
  const episodes = new Map<string, number>();
  const environments = new Set<string>();
  const acknowledgements = new Set<string | null>();
  let withoutConversation = 0;
  for await (const { line, value } of readRows(path, hash)) {
    const parsed = parseAgentTrajItem(value, environment);
    if (parsed.kind === 'refused') throw badRow(path, line, parsed.reason);
    if (parsed.kind === 'no-conversation') {
      withoutConversation += 1;
      continue;
    }
    const { episode } = parsed;
    const key = taskKey(episode);
    episodes.set(key, (episodes.get(key) ?? 0) + 1);
    environments.add(episode.environment);
    if (acknowledgements.size < 2) acknowledgements.add(episode.acknowledgement);
  }
  const [only = null] = acknowledgements;
  return {
    sha256: hash.digest('hex'),
    environments: [...environments].sort(),
    episodes,
    withoutConversation,
    acknowledgement: acknowledgements.size === 1 ? only : null,
  };
}

/** Tells which episodes are of one task: environment, alias, instruction and first observation. A tree is all of them. */
export function taskKey({ environment, alias, instruction, firstObservation }: Episode): string {
  return derivedId('agent-traj-task', environment, alias, instruction, firstObservation);
}
