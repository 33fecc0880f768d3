import { configureEstimator } from '../domain/training/advantages/estimators.ts';
import { type PlanRequest, planBatches } from '../domain/training/planning/plan-batches.ts';
import type { PoolGroup } from '../domain/training/planning/pool.ts';
import { planRules } from '../events/schemas/training.ts';
import type { Db } from '../postgres/database.ts';
import { keyInTree } from '../projections/of-tree.ts';
import { type LineageRecord, readLineages } from '../projections/training-pool/read-lineages.ts';
import { readPool } from '../projections/training-pool/read-pool.ts';

/** Reads what batches of a lineage are planned from; null while nobody trains it. @throws TrainingRefused. */
export async function readPlanRequest(
  db: Db,
  lineage: LineageRecord,
  finishedRuns: readonly string[],
): Promise<PlanRequest | null> {
  const { policyId, planned, trained, abandoned, newestVersion, seed } = lineage;
  if (newestVersion === null) return null;
  const { rules, estimator } = understandLineage(lineage);
  const { readiness } = estimator;
  const groups = await readPool(db, { policyId, rules, waitsFor: readiness.waitsFor, finishedRuns });
  return { state: { policyId, newestVersion, planned, trained, abandoned }, rules, readiness, seed, groups };
}

/**
 * Reads the closed groups of a policy of which no member will be trained, by the rules that its planner follows: it says so of
 * each behind this, unless a reward is revised before, or a sample is unreadable and the batch before it is planned without. None
 * where this version cannot plan for the policy.
 */
export async function readRefusedGroups(db: Db, policyId: string): Promise<readonly string[]> {
  const request = await readRequestOf(db, policyId);
  if (request === null) return [];
  const refused = new Set(
    planBatches(request).flatMap((said) => (said.kind === 'reject' ? [keyInTree(said.treeId, said.rolloutId)] : [])),
  );
  const isOut = ({ treeId, closedMs, taken, planned, samples }: PoolGroup) =>
    closedMs !== null &&
    !taken &&
    samples.length >= planned && // a member that is still on its way is owed
    samples.every(({ rejected, rolloutId }) => rejected !== null || refused.has(keyInTree(treeId, rolloutId)));
  return request.groups.filter(isOut).map(({ treeId }) => treeId);
}

async function readRequestOf(db: Db, policyId: string): Promise<PlanRequest | null> {
  const [lineage] = await readLineages(db, [policyId]);
  try {
    return lineage ? await readPlanRequest(db, lineage, []) : null;
  } catch (error) {
    if (error instanceof TrainingRefused) return null;
    throw error;
  }
}

/**
 * Configures the estimator that was declared. One of another revision would be ready at other times: its batches are not planned.
 * @throws TrainingRefused.
 */
export function understandLineage({ policyId, rules, estimator: { name, revision, mode } }: LineageRecord) {
  const chosen = configureEstimator(name, mode as Record<string, unknown>); // the options, as `declareTraining` wrote them
  if (chosen.kind === 'refused') throw new TrainingRefused(`${policyId}: ${chosen.reason}`);
  if (chosen.estimator.revision !== revision)
    throw new TrainingRefused(`${policyId} was declared with ${name}@${revision}, this version has ${chosen.estimator.revision}`);
  return { rules: planRules.parse(rules), estimator: chosen.estimator };
}

/** The declaration names no estimator, an option that it does not have, or rewards without the metric. */
export class TrainingRefused extends Error {
  override readonly name = 'TrainingRefused';
}
