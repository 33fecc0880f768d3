import type { RolloutCorrection } from '../../domain/training/correction/correct-rollouts.ts';
import { parseRejectionRules } from '../../domain/training/correction/rejection.ts';
import type { TrainingSettings } from './training-settings.ts';

/** Reads the correction of rollouts that is declared; null for none. */
export function correctionOf({ correction }: Pick<TrainingSettings, 'correction'>): RolloutCorrection | null {
  const { weights = null, rejection } = correction ?? {};
  if (weights === null && rejection === undefined) return null;
  return { weights, rejection: rejection === undefined ? [] : parseRejectionRules(rejection.rules, rejection.bounds) };
}
