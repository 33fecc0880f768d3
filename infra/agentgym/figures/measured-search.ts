import { createAppender } from '../../../src/append/appender.ts';
import { EXPLORATION } from '../../../src/domain/search/uct.ts';
import { openEnvironment } from '../../../src/environments/open-environment.ts';
import { DEFAULT_STAMP } from '../../../src/events/envelope.ts';
import { openEmbeddedLog } from '../../../src/log/embedded-log.ts';
import { createPolicy, parsePolicyText } from '../../../src/policies/policy-spec.ts';
import { MemoryBlobs } from '../../../src/testing/memory-blobs.ts';
import { collectRun } from '../../../src/usecases/collect/collect-run.ts';
import { nothingRecorded } from '../../../src/usecases/collect/recorded-run.ts';
import { askFork } from '../../bench/ask-fork.ts';

/** A recorded search of several tasks, in a process of its own. */
export interface SearchWork {
  readonly runId: string;
  readonly environment: string;
  readonly policy: string;
  /** By the rules of the published program. */
  readonly compat: boolean;
  /** Of the log that it records in. */
  readonly databaseUrl: string;
  readonly aliases: readonly string[];
  readonly iterations: number;
  readonly candidates: number;
  readonly maxDepth: number;
}

/** What a search took, from its first request to its last one. */
export interface Searched {
  readonly nodes: number;
  readonly wallMs: number;
  /** User and system time of the process. */
  readonly cpuMs: number;
}

/** Searches from a process of its own, and measures there. */
export function searchMeasured(work: SearchWork): Promise<Searched> {
  return askFork<Searched>(import.meta.url, work);
}

// sent by `searchMeasured`
if (process.argv[2] === 'search') process.once('message', (work) => void main(work as SearchWork));

async function main({ runId, environment, policy: spec, databaseUrl, aliases, compat, ...sizes }: SearchWork): Promise<void> {
  const log = await openEmbeddedLog({ url: databaseUrl });
  const kind = await openEnvironment(environment);
  const policy = await createPolicy(parsePolicyText(spec));
  const rules = compat ? { compat: { system: 'agent-r', maxTokenLength: null, rewardScale: 1 } as const } : {};
  const cpu = process.cpuUsage();
  const began = performance.now();
  const { steps } = await collectRun({
    runId,
    name: 'figures',
    seed: 1,
    codeVersion: 'figures',
    kind,
    policy,
    plan: {
      environment,
      policy: spec,
      taskSeed: 0,
      temperature: 1,
      maxSteps: 100,
      tasks: aliases.map((alias) => ({ alias, rollouts: 1, branching: 'root' as const })),
      search: { ...sizes, exploration: EXPLORATION, ...rules },
    },
    appender: createAppender({
      log,
      blobs: new MemoryBlobs(),
      stamp: DEFAULT_STAMP,
      clock: Date.now,
      producer: { name: 'collector', version: 'figures' },
    }),
    recorded: nothingRecorded,
    concurrency: 8,
    clock: Date.now,
    signal: new AbortController().signal,
  });
  const { user, system } = process.cpuUsage(cpu);
  const searched: Searched = { nodes: steps, wallMs: performance.now() - began, cpuMs: (user + system) / 1_000 };
  await policy.close();
  await kind.close();
  await log.close();
  process.send?.(searched, () => process.disconnect());
}
