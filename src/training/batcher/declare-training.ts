import type { Appender } from '../../append/appender.ts';
import { configureEstimator } from '../../domain/training/advantages/estimators.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import { derivedId } from '../../events/derived-id.ts';

export interface TrainingDeclaration {
  readonly policyId: string;
  readonly estimator: { readonly name: string; readonly options: Readonly<Record<string, unknown>> };
  readonly rules: PlanRules;
  readonly seed: number;
  /** What trainers are told beside: any JSON. */
  readonly trainer: unknown;
}

/** The declaration names no estimator, or an option that it does not have. */
export class TrainingRefused extends Error {
  override readonly name = 'TrainingRefused';
}

/** Gives the id of a policy's stream of training events. */
export function lineageIdOf(policyId: string): string {
  return derivedId('lineage', policyId);
}

/**
 * Declares that a policy is trained, and how: batchers plan for it from now on. Saying the same again changes nothing; other rules under the same
 * policy are a conflict, and quarantined. @throws TrainingRefused; EventRefused when a rule is out of its range.
 */
export async function declareTraining(appender: Appender, declaration: TrainingDeclaration): Promise<string> {
  const { policyId, estimator, rules, seed, trainer } = declaration;
  const chosen = configureEstimator(estimator.name, estimator.options);
  if (chosen.kind === 'refused') throw new TrainingRefused(chosen.reason);
  const { name, revision, mode } = chosen.estimator;
  const lineageId = lineageIdOf(policyId);
  const data = { lineageId, policyId, estimator: { name, revision, mode }, rules, seed, trainer };
  await appender.append([
    { type: 'TrainingDeclared', id: derivedId('TrainingDeclared', lineageId), correlationId: lineageId, data },
  ]);
  return lineageId;
}
