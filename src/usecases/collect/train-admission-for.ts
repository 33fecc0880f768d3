import { planRules } from '../../events/schemas/training.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { isLive } from '../../policies/live-policy.ts';
import type { Policy } from '../../policies/policy.ts';
import { topicsOf } from '../../projections/concerns.ts';
import { countMoves } from '../../projections/moved-cursors.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import { trainingPool } from '../../projections/training-pool/training-pool.ts';
import { readRefusedGroups } from '../../training/planning/read-plan-request.ts';
import type { Admission } from './admission.ts';
import type { CollectPlan } from './plan.ts';
import { type Gate, openAdmission } from './train-admission.ts';

/** The plan names a training that cannot be served so. */
export class TrainingRefused extends Error {
  override readonly name = 'TrainingRefused';
}

/**
 * Opens the gate of a collection that feeds a trainer, which who opens it closes; undefined for channels that feed none. @throws
 * TrainingRefused when the policy is not declared, or does not follow its versions.
 */
export async function admissionFor(
  { database, directUrl, log }: Platform,
  { policyId, channel, mode, maxStaleness, untilVersion }: NonNullable<CollectPlan['training']>,
  policy: Policy,
): Promise<Admission | undefined> {
  if (channel !== 'train') return undefined;
  if (policy.ref.policyId !== policyId)
    throw new TrainingRefused(`the plan trains ${policyId} and acts by ${policy.ref.policyId}; act by live:${policyId}`);
  const { db } = database;
  const [lineage] = await readLineages(db, [policyId]);
  if (!lineage)
    throw new TrainingRefused(`the policy ${policyId} is not declared for training; begin it with \`espalier train\``);
  const { groupsPerBatch } = planRules.parse(lineage.rules);
  if (mode === 'strict' && maxStaleness !== 0) throw new TrainingRefused('strict means a staleness of 0; say bounded for more');
  const pin = isLive(policy) ? policy.pin : null;
  if (mode === 'strict' && pin === null)
    throw new TrainingRefused(
      `strict groups walk with one version of ${policyId}, and the plan names a policy that follows none; act by live:${policyId}`,
    );
  const atLeast = pin ?? (() => Promise.reject(new TypeError('bounded groups follow the newest version')));
  const from = await log.ends(topicsOf(trainingPool));
  let gate: Gate | undefined;
  const moves = await countMoves(directUrl, () => (gate?.expecting() ? ['training', 'trees'] : ['training']));
  const rules = { policyId, groupsPerBatch, mode, maxStaleness, untilVersion };
  gate = openAdmission({ db, live: policy, atLeast, from, refused: readRefusedGroups, moves }, rules);
  return { ...gate, close: () => moves.close() };
}
