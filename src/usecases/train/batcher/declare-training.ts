import type { Appender } from '../../../append/appender.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { type PlanRules, weightOf } from '../../../domain/training/planning/plan-rules.ts';
import type { DataOf } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { TrainingRefused } from '../../../training/read-plan-request.ts';

export interface TrainingDeclaration {
  readonly policyId: string;
  readonly estimator: { readonly name: string; readonly options: Readonly<Record<string, unknown>> };
  /** Without `rewards` the policy is trained on the metric alone. */
  readonly rules: PlanRules;
  readonly seed: number;
  /** What trainers receive besides: any JSON. */
  readonly trainer: unknown;
}

/** Returns the id of a policy's stream of training events. */
export function lineageIdOf(policyId: string): string {
  return derivedId('lineage', policyId);
}

/**
 * Declares that a policy is trained, and how: batchers plan for it from now on. Saying the same again changes nothing; other
 * rules under the same policy are a conflict, and quarantined. @throws TrainingRefused; EventRefused when a rule is out of its
 * range.
 */
export async function declareTraining(appender: Appender, declaration: TrainingDeclaration): Promise<string> {
  const data = trainingDeclared(declaration);
  const { lineageId } = data;
  await appender.append([
    { type: 'TrainingDeclared', id: derivedId('TrainingDeclared', lineageId), correlationId: lineageId, data },
  ]);
  return lineageId;
}

/** Returns what is recorded of a declaration. @throws TrainingRefused. */
export function trainingDeclared(declaration: TrainingDeclaration): DataOf<'TrainingDeclared'> {
  const { policyId, estimator, rules, seed, trainer } = declaration;
  const chosen = configureEstimator(estimator.name, estimator.options);
  if (chosen.kind === 'refused') throw new TrainingRefused(chosen.reason);
  const { name, revision, mode } = chosen.estimator;
  const lineageId = lineageIdOf(policyId);
  return { lineageId, policyId, estimator: { name, revision, mode }, rules: withRewards(rules), seed, trainer };
}

/**
 * Names the trained components: the metric alone unless others are declared. Groups wait for the metric and for no other, so it
 * is trained on.
 */
function withRewards(rules: PlanRules): PlanRules {
  const { metric, rewards = { [metric]: 1 } } = rules;
  if (weightOf(rewards, metric) === 0)
    throw new TrainingRefused(
      `rules.rewards: the metric ${metric} has no weight among ${Object.keys(rewards).join(', ') || 'none'}; ` +
        `give it one, or choose a metric that is trained on`,
    );
  return { ...rules, rewards };
}
