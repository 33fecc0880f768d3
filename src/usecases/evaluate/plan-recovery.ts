import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readFailures } from '../../projections/evaluations/read-evaluations.ts';
import { readRunsById } from '../../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { collectPlan, type PlannedTask } from '../collect/plan.ts';

/** Which failures an evaluation goes on behind. */
export interface Recovery {
  readonly runId: string;
  /** As it was named, for messages. */
  readonly environment: string;
  readonly seed: number;
  readonly taskSeed: number;
  /** Episodes behind each failed rollout. */
  readonly rollouts: number;
}

/** How the options are called where they were given, for messages. */
export interface RecoveryOptions {
  readonly run: string;
  readonly taskSeed: string;
  readonly environment: string;
}

const CATCH_UP_MS = 60_000;

/**
 * Cuts every failed rollout of a run at a step drawn from the seed, and plans to go on behind it. @throws RunRefused where there
 * is no such run, or one of another world, or nothing to go on behind.
 */
export async function planRecovery(
  { database, log }: Platform,
  kind: EnvironmentKind,
  { runId, environment, seed, taskSeed, rollouts }: Recovery,
  options: RecoveryOptions,
): Promise<PlannedTask[]> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS });
  const [run] = await readRunsById(database.db, [runId]);
  if (!run) throw new RunRefused(`${options.run}: there is no run ${runId}; \`espalier status\` lists the runs`);
  if (!run.environments.some((each) => each.environment === kind.name && each.fingerprint === kind.fingerprint))
    throw new RunRefused(
      `${options.run}: run ${runId} was in another world than ${environment}; name its own with ${options.environment}`,
    );
  const drawn = collectPlan.safeParse(run.config).data?.taskSeed ?? taskSeed;
  if (drawn !== taskSeed)
    throw new RunRefused(`${options.run}: the tasks of run ${runId} were drawn with ${options.taskSeed} ${drawn}`);
  const failures = await readFailures(database.db, runId);
  if (failures.length === 0) throw new RunRefused(`${options.run}: run ${runId} has no failed rollout of two steps or more`);
  return failures.map(({ treeId, rolloutId, alias, steps }) => {
    const cut = 1 + createRandom(seedFrom('recover', seed, rolloutId)).int(steps - 1);
    return { alias, rollouts, branching: 'root', behind: { treeId, rolloutId, steps: cut } };
  });
}
