import { COMPRESSION_PRESETS } from '../../../domain/compression/reward-presets.ts';
import { TEMPLATE_VERSIONS } from '../../../domain/prompts/compose-prompt.ts';
import { emptyHistoryOf, TEMPLATES, templateFor } from '../../collect/prompting/choose-template.ts';
import type { PromptPlan } from '../../collect/prompting/prompt-plan.ts';
import type { PromptFields } from './prompt-fields.ts';

/** A world whose prompts no template words. */
export class NoTemplate extends Error {
  override readonly name = 'NoTemplate';
}

/**
 * Makes the plan of the prompts of a run; undefined where the environment's own chat is used. @param iteration the training
 * iteration of the run, from 1: version + 1. Compression is paid in every K-th. @throws NoTemplate.
 */
export function promptPlanOf(
  prompt: PromptFields | undefined,
  environment: string,
  iteration: Iteration,
): PromptPlan | undefined {
  if (!prompt || prompt.mode === 'chat') return undefined;
  const name = prompt.template ?? templateFor(environment);
  if (!name)
    throw new NoTemplate(`prompt.template: there is none for ${environment}; name one of ${TEMPLATES.join(', ')}, or mode chat`);
  const { historyLength = 50, invalidPenalty = 0, mode } = prompt;
  const shown = { template: { name, version: TEMPLATE_VERSIONS[name] }, mode, historyLength, invalidPenalty };
  if (prompt.mode === 'text') return { ...shown, image: null, compression: null };
  const { profile = 'crisp', vision = 'qwen2.5-vl', emptyHistory = emptyHistoryOf(profile), compression } = prompt;
  return {
    ...shown,
    image: { profile, vision, emptyHistory },
    compression: compression
      ? {
          candidateFactor: 1.2,
          reward: 'factor' as const,
          ...COMPRESSION_PRESETS.paper,
          ...defined(compression),
          iteration,
        }
      : null,
  };
}

type Iteration = NonNullable<PromptPlan['compression']>['iteration'];

/** Leaves out what is undefined, which would take the place of a default. */
function defined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }; // the undefined ones were optional
}
