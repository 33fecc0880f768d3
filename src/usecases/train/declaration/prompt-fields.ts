import { z } from 'zod';
import { promptPlan } from '../../collect/prompting/prompt-plan.ts';

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
export type PromptFields = z.infer<typeof promptFields>;
