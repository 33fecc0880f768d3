import type { Appender } from '../append/appender.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Policy } from '../policies/policy.ts';
import { collectRun } from '../usecases/collect/collect-run.ts';
import { treeIdOf } from '../usecases/collect/collect-tree.ts';
import type { CollectPlan } from '../usecases/collect/plan.ts';
import { readRecordedRun } from '../usecases/collect/recorded-run.ts';
import { appenderAs } from './appender-as.ts';
import { settle } from './crashing-run.ts';

/** What a collector of this process works on, and how many appends it survives. */
export interface MortalCollector {
  readonly runId: string;
  readonly seed: number;
  readonly plan: CollectPlan;
  readonly kind: EnvironmentKind;
  readonly policy: Policy;
  readonly appends: number;
}

/** Begins or resumes a run and dies at the append after `appends` ones, as a killed process does. */
export async function collectMortally(platform: Platform, { appends, ...run }: MortalCollector): Promise<'completed' | 'killed'> {
  await settle(platform);
  const { log, blobs, database } = platform;
  const recorded = await readRecordedRun(
    database.db,
    run.runId,
    (i) => treeIdOf(run.runId, run.plan.tasks[i]!, i), // a tree of each task of the plan
    async () => '',
    async () => new Uint8Array(),
  );
  const sequenceOf = async (stream: string) => {
    const producers = database.db.selectFrom('streamProducers').select('sequence').where('stream', '=', stream);
    const row = await producers.executeTakeFirst();
    return row ? row.sequence + 1 : 0;
  };
  const appender = dyingAfter(appends, appenderAs('collector', { log, blobs }, { sequenceOf }));
  const { signal } = new AbortController();
  try {
    await collectRun({ ...run, name: 'test', codeVersion: 'test', recorded, concurrency: 2, clock: Date.now, appender, signal });
    return 'completed';
  } catch (error) {
    if ((error as Error).message !== 'killed') throw error;
    return 'killed';
  } finally {
    await settle(platform);
  }
}

function dyingAfter(appends: number, appender: Appender): Appender {
  let left = appends;
  return { append: (drafts) => (left-- > 0 ? appender.append(drafts) : Promise.reject(new Error('killed'))) };
}
