import type { z } from 'zod';
import { releaseStage, reviseStage } from './data-stages.ts';
import { collectStage, evaluateStage, searchStage } from './rollout-stages.ts';
import type { StageForm } from './stage-work.ts';
import { cloneStage, trainStage } from './train-stages.ts';

/** Every form of stage. `train` has two, by whether it names a released file: then it is `clone`. */
export const STAGES = {
  collect: collectStage,
  search: searchStage,
  revise: reviseStage,
  release: releaseStage,
  train: trainStage,
  clone: cloneStage,
  evaluate: evaluateStage,
} as const;

export type Form = keyof typeof STAGES;
export type StageKind = Exclude<Form, 'clone'>;
export const STAGE_KINDS = Object.keys(STAGES).filter((form): form is StageKind => form !== 'clone');
/** The options of a stage that were checked, defaults filled in. */
export type OptionsOf<F extends Form> = z.output<(typeof STAGES)[F]['fields']>;

/** Returns a form for options of its own, which the caller has of the same form. */
export function stageFormOf(form: Form): StageForm {
  return STAGES[form];
}
