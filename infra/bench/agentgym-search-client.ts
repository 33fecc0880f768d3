import { randomUUID } from 'node:crypto';
import { createAppender } from '../../src/append/appender.ts';
import { EXPLORATION } from '../../src/domain/search/uct.ts';
import { openAgentGym } from '../../src/environments/agentgym/open-agentgym.ts';
import { surviving } from '../../src/environments/surviving.ts';
import { DEFAULT_STAMP } from '../../src/events/envelope.ts';
import { openEmbeddedLog } from '../../src/log/embedded-log.ts';
import { MemoryBlobs } from '../../src/testing/memory-blobs.ts';
import { collectRun } from '../../src/usecases/collect/collect-run.ts';
import type { CollectPlan } from '../../src/usecases/collect/plan.ts';
import { nothingRecorded } from '../../src/usecases/collect/recorded-run.ts';
import { answering } from './agentgym-search-answers.ts';
import { searchAsPublished } from './agentgym-search-published.ts';
import { askFork } from './ask-fork.ts';

/** A search of several tasks, in a process of its own. */
export interface SearchWork {
  /**
   * `published`: as Agent-R's program; `own` and `agent-r`: by our search, by its own rules or those of the published program.
   */
  readonly rules: 'published' | 'own' | 'agent-r';
  readonly url: string;
  /** Of the log that it records in. */
  readonly databaseUrl: string;
  readonly aliases: readonly string[];
  readonly iterations: number;
  readonly candidates: number;
  readonly maxDepth: number;
}

export interface Searched {
  readonly nodes: number;
  readonly wallMs: number;
  /** User and system time of this process, from the first request to the last one. */
  readonly cpuMs: number;
}

/** Searches from a process of its own, and measures there. */
export function searchFromOutside(work: SearchWork): Promise<Searched> {
  return askFork<Searched>(import.meta.url, work);
}

// sent by `searchFromOutside`
if (process.argv[2] === 'search') process.once('message', (work) => void main(work as SearchWork));

async function main(work: SearchWork): Promise<void> {
  const searched = work.rules === 'published' ? await searchPublished(work) : await searchRecorded(work, work.rules);
  process.send?.(searched, () => process.disconnect());
}

async function measured(search: () => Promise<number>): Promise<Searched> {
  const cpu = process.cpuUsage();
  const began = performance.now();
  const nodes = await search();
  const { user, system } = process.cpuUsage(cpu);
  return { nodes, wallMs: performance.now() - began, cpuMs: (user + system) / 1_000 };
}

/** One task after another, as the published program does. */
function searchPublished({ url, aliases, ...sizes }: SearchWork): Promise<Searched> {
  const params = { ...sizes, exploration: EXPLORATION, tieBreak: { kind: 'first' } } as const;
  return measured(async () => {
    let nodes = 0;
    for (const alias of aliases) nodes += await searchAsPublished(url, alias, params);
    return nodes;
  });
}

async function searchRecorded(work: SearchWork, rules: 'own' | 'agent-r'): Promise<Searched> {
  const log = await openEmbeddedLog({ url: work.databaseUrl });
  const kind = surviving(await openAgentGym({ server: 'textcraft', url: work.url, tasks: work.aliases }));
  try {
    return await measured(async () => {
      const { steps } = await collectRun({
        runId: randomUUID(),
        name: 'bench',
        seed: 1,
        plan: planOf(work, rules),
        codeVersion: 'bench',
        kind,
        policy: answering,
        appender: createAppender({
          log,
          blobs: new MemoryBlobs(),
          stamp: DEFAULT_STAMP,
          clock: Date.now,
          producer: { name: 'collector', version: 'bench' },
        }),
        recorded: nothingRecorded,
        concurrency: 8,
        clock: Date.now,
        signal: new AbortController().signal,
      });
      return steps;
    });
  } finally {
    await kind.close();
    await log.close();
  }
}

function planOf({ aliases, iterations, candidates, maxDepth }: SearchWork, rules: 'own' | 'agent-r'): CollectPlan {
  const compat = { system: 'agent-r', maxTokenLength: null, rewardScale: 1 } as const;
  return {
    environment: 'agentgym',
    tasks: aliases.map((alias) => ({ alias, rollouts: 1, branching: 'root' as const })),
    taskSeed: 0,
    policy: 'answering',
    temperature: 1,
    maxSteps: 100,
    search: { iterations, candidates, maxDepth, exploration: EXPLORATION, ...(rules === 'agent-r' ? { compat } : {}) },
  };
}
