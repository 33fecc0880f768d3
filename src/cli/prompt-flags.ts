import { type Command, Option } from 'commander';
import { COMPRESSION_PRESETS, isRewarded } from '../domain/compression/factor-reward.ts';
import { TEMPLATE_VERSIONS } from '../domain/prompts/compose-prompt.ts';
import type { TemplateName } from '../domain/prompts/prompt-template.ts';
import { RENDER_PROFILES, type RenderProfile } from '../images/render-spec.ts';
import { VISION_PRESETS } from '../images/vision-tokens.ts';
import { emptyHistoryOf, type PromptPlan, TEMPLATES, templateFor } from '../usecases/collect/prompting/prompt-plan.ts';
import { numberBetween, wholeNumber } from './with-platform.ts';

export interface PromptFlags {
  readonly prompt?: 'text' | 'image';
  readonly template?: TemplateName;
  readonly history: number;
  readonly profile: RenderProfile;
  readonly vision: string;
  readonly compression?: 'factor' | 'tokens-saved' | 'none';
  readonly factor: number;
  readonly compressionPreset: keyof typeof COMPRESSION_PRESETS;
  readonly iteration?: number;
  readonly invalidPenalty: number;
}

/**
 * The options that word the prompts of a run (AgentOCR): the past written out, or drawn into an image.
 * @param schedule whether the training iteration, which decides what is paid for compression, is an option or follows the version
 * that answers.
 */
export function addPromptOptions(command: Command, schedule: 'iteration' | 'version' = 'version'): void {
  command
    .addOption(
      new Option(
        '--prompt <mode>',
        "word the prompts by a template, the past as text or as an image; else the environment's own chat",
      ).choices(['text', 'image']),
    )
    .addOption(
      new Option('--template <name>', "prompt: its wording; the environment's own when left out").choices([...TEMPLATES]),
    )
    .option('--history <n>', 'prompt: number of last steps shown', wholeNumber('--history', 0, 10_000), 50)
    .addOption(new Option('--profile <name>', 'image: the render profile').choices([...RENDER_PROFILES]).default('crisp'))
    .addOption(
      new Option('--vision <name>', 'image: the vision processor that counts tokens')
        .choices(Object.keys(VISION_PRESETS))
        .default('qwen2.5-vl'),
    )
    .addOption(
      new Option(
        '--compression <reward>',
        'image: let the agent choose the factor of its next image, with this reward; a search has none, as walks share steps but not outcomes',
      ).choices(['factor', 'tokens-saved', 'none']),
    )
    .option('--factor <cf>', 'compression: the factor of policies that choose none', numberBetween('--factor', 1, 5), 1.2)
    .addOption(
      new Option('--compression-preset <name>', 'compression: λ, μ and K of the reward')
        .choices(Object.keys(COMPRESSION_PRESETS))
        .default('paper'),
    )
    .option(
      '--invalid-penalty <x>',
      'prompt: the penalty for a malformed reply; in a search once per step',
      numberBetween('--invalid-penalty', 0, 1_000),
      0,
    );
  if (schedule === 'iteration')
    command.option(
      '--iteration <n>',
      'compression: the training iteration of the run, from 1; every K-th is rewarded',
      wholeNumber('--iteration', 1),
      1,
    );
}

/**
 * Makes the plan of the prompts; undefined where none is asked for. @throws Error naming the option that does not go with the
 * others.
 */
export function promptPlanOf(flags: PromptFlags, environment: string): PromptPlan | undefined {
  const { prompt: mode, compression, compressionPreset } = flags;
  if (!mode) {
    if (flags.template || compression) throw new Error('--template and --compression go with --prompt text or --prompt image');
    return undefined;
  }
  if (compression && mode === 'text')
    throw new Error('--compression goes with --prompt image: there is no image to compress in text mode');
  const name = flags.template ?? templateOf(environment);
  const { profile, vision, factor, iteration = 'version' } = flags;
  return {
    template: { name, version: TEMPLATE_VERSIONS[name] },
    mode,
    historyLength: flags.history,
    image: mode === 'image' ? { profile, vision, emptyHistory: emptyHistoryOf(profile) } : null,
    compression: compression
      ? { candidateFactor: factor, reward: compression, ...COMPRESSION_PRESETS[compressionPreset], iteration }
      : null,
    invalidPenalty: flags.invalidPenalty,
  };
}

/**
 * Returns what is easily missed of a reward for compression: that this iteration pays none, and that training counts it where its
 * weight is named. Null where nothing is missed. @param weights of the training; null where it is not known.
 */
export function compressionNote(plan: PromptPlan | undefined, weights: Readonly<Record<string, number>> | null): string | null {
  const compression = plan?.compression;
  if (!compression || compression.reward === 'none' || weights?.compression !== undefined) return null;
  const { every, iteration } = compression;
  const pays =
    iteration === 'version' || isRewarded(every, iteration)
      ? ''
      : `nothing is paid for compression in iteration ${iteration}, since one in ${every} is paid (--iteration, --compression-preset); `;
  return `note: ${pays}training counts the component compression where it has a weight: --rewards environment=1,compression=1`;
}

/** Returns the template worded for an environment. @throws Error that names them all. */
export function templateOf(environment: string): TemplateName {
  const found = templateFor(environment);
  if (!found) throw new Error(`--template: there is none for ${environment}; name one of ${TEMPLATES.join(', ')}`);
  return found;
}
