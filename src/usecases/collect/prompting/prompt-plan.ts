import { z } from 'zod';
import { TEMPLATE_VERSIONS } from '../../../domain/prompts/compose-prompt.ts';
import type { TemplateName } from '../../../domain/prompts/prompt-template.ts';
import { count } from '../../../events/schemas/values.ts';
import type { HistoryRenderer, RenderedHistory } from '../../../images/history-renderer.ts';
import { RENDER_PROFILES, type RenderProfile } from '../../../images/render-spec.ts';
import type { VisionPreset, VisionTokens } from '../../../images/vision-tokens.ts';
import type { SentPrompt } from '../../../policies/shown-prompt.ts';

/**
 * How the steps of a run are asked for and its answers read, where that is not the environment's own chat: AgentOCR's prompts,
 * with the past written out (`text`) or drawn into an image (`image`). Recorded with the run's plan; everything that changes a
 * prompt is in it.
 */
export const promptPlan = z.strictObject({
  template: z.strictObject({ name: z.enum(['alfworld', 'search-qa', 'textcraft', 'webshop']), version: z.int().min(1) }),
  mode: z.enum(['text', 'image']),
  /** How many of the last steps are shown. */
  historyLength: count.max(10_000),
  /** Image mode: how the history is drawn, and the vision processor whose tokens are counted. */
  image: z
    .strictObject({
      profile: z.enum(RENDER_PROFILES),
      vision: z.string().max(100),
      emptyHistory: z.enum(['no-image', 'blank-image']),
    })
    .nullable(),
  /** There when the agent chooses the factor of its next image. */
  compression: z
    .strictObject({
      /** What a policy over candidates, which writes no factor of its own, asks for at every step. */
      candidateFactor: z.number().min(1).max(5),
      /** `factor`: λ·ln cf as published. `tokens-saved`: λ·ln of what the image really saved. */
      reward: z.enum(['factor', 'tokens-saved', 'none']),
      lambda: z.number().min(0).max(1_000),
      mu: z.number().min(0).max(1_000),
      /**
       * K: rewarded in every K-th training iteration. `iteration` is the one that this run belongs to, counted from 1 over the
       * whole training; `version`: that of each answer, which is the version that drew it and is trained by it, + 1.
       */
      every: z.int().min(1).max(1_000_000),
      iteration: z.union([z.int().min(1), z.literal('version')]),
    })
    .nullable(),
  /** What a step whose answer does not keep the form loses. */
  invalidPenalty: z.number().min(0).max(1_000),
});
/** Returns the training iteration, from 1, that an answer by a version of the policy belongs to. */
export function iterationOf({ iteration }: Pick<Compression, 'iteration'>, policyVersion: number): number {
  return iteration === 'version' ? policyVersion + 1 : iteration;
}

type Compression = NonNullable<PromptPlan['compression']>;
export type PromptPlan = z.infer<typeof promptPlan>;

/** The wordings of prompts by name. */
export const TEMPLATES = Object.keys(TEMPLATE_VERSIONS) as readonly TemplateName[]; // the keys of a record over it

/** Finds the template worded for an environment. */
export function templateFor(environment: string): TemplateName | undefined {
  return TEMPLATES.find(
    (name) =>
      [name, `${name}-generated`].includes(environment.split(':', 1)[0] ?? '') || environment.startsWith(`agentgym:${name}`),
  );
}

/** Describes what a first step shows: as published a blank image, otherwise none. */
export function emptyHistoryOf(profile: RenderProfile): 'no-image' | 'blank-image' {
  return profile === 'crisp' ? 'no-image' : 'blank-image';
}

/** How a run asks: its plan, and what draws its histories (null in text mode). */
export interface Prompter {
  readonly plan: PromptPlan;
  readonly drawing: PromptDrawing | null;
  /** The rollout or the search that histories are drawn for. */
  readonly episode?: string;
}

export interface PromptDrawing {
  readonly renderer: HistoryRenderer;
  readonly vision: VisionPreset;
  /** Segments that this process knows to be on record. */
  readonly recorded: Set<string>;
  /** Finds those of these segments that other processes put on record. */
  readonly findRecorded: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** What a step is asked with, and the image in it. */
export interface StepPrompt {
  readonly shown: SentPrompt;
  readonly history: DrawnHistory | null;
}

/** The history image of one prompt, with what is recorded of it. */
export interface DrawnHistory {
  readonly kind: 'segments' | 'blank' | 'absent';
  readonly rendered: RenderedHistory;
  /** The texts of the segments, in order. */
  readonly texts: readonly string[];
  readonly factor: number;
  readonly factorChosenBy: string | null;
  readonly vision: VisionTokens;
  /** What the image would cost at factor 1. */
  readonly wholeTokens: number;
  /** What the same history costs as text. */
  readonly text: { readonly count: number; readonly tokenizer: string };
  readonly renderMs: number;
}
