import { z } from 'zod';
import { COMPRESSION_PRESETS } from '../../../domain/compression/factor-reward.ts';
import { TEMPLATE_VERSIONS } from '../../../domain/prompts/compose-prompt.ts';
import { emptyHistoryOf, type PromptPlan, promptPlan, TEMPLATES, templateFor } from '../../collect/prompting/prompt-plan.ts';

const { template, historyLength, invalidPenalty } = promptPlan.shape;
const image = promptPlan.shape.image.unwrap().shape;
const compression = promptPlan.shape.compression.unwrap().shape;

const shown = {
  template: template.shape.name.optional().describe('Wording of the prompts; left out, that of the environment.'),
  historyLength: historyLength.optional().describe('How many of the last steps are shown; 50 when left out.'),
  invalidPenalty: invalidPenalty.optional().describe('What a step loses whose answer breaks the form; nothing when left out.'),
};

/** How the policy is asked at each step: collectors make the plan of each of their runs of it. */
export const promptFields = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('chat').describe("`chat`: the environment's own chat.") }),
  z.strictObject({ mode: z.literal('text').describe('`text`: by a template, the past written out.'), ...shown }),
  z.strictObject({
    mode: z.literal('image').describe('`image`: by a template, the past drawn into an image.'),
    ...shown,
    profile: image.profile.optional().describe('How the history is drawn; `crisp` when left out.'),
    vision: image.vision.optional().describe('Vision processor whose tokens are counted; `qwen2.5-vl` when left out.'),
    emptyHistory: image.emptyHistory
      .optional()
      .describe('What a first step shows; left out, a blank image with a published profile and none with `crisp`.'),
    compression: z
      .strictObject({
        reward: compression.reward
          .optional()
          .describe(
            '`factor`, also when left out: λ·ln of the chosen factor. `tokens-saved`: λ·ln of what the image saved. `none`: unpaid.',
          ),
        lambda: compression.lambda.optional().describe('λ: what a successful episode earns for compression; 0.01 when left out.'),
        mu: compression.mu.optional().describe('μ: what a failed episode pays for it; 0 when left out.'),
        every: compression.every
          .optional()
          .describe(
            'K: compression is paid in every K-th iteration, 5 when left out; the iteration of a rollout is its version + 1.',
          ),
        candidateFactor: compression.candidateFactor
          .optional()
          .describe('Factor that a policy over candidates asks for, which writes none of its own; 1.2 when left out.'),
      })
      .nullable()
      .optional()
      .describe('There when the agent chooses the factor of its next image.'),
  }),
]);
type PromptFields = z.infer<typeof promptFields>;

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
