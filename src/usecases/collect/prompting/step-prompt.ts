import type { HistoryRenderer, RenderedHistory } from '../../../images/history-renderer.ts';
import type { VisionPreset, VisionTokens } from '../../../images/vision-tokens.ts';
import type { ShownPrompt } from '../../../policies/shown-prompt.ts';
import type { PromptPlan } from './prompt-plan.ts';

/** How a run asks: its plan, and what draws its histories (null in text mode). */
export interface Prompter {
  readonly plan: PromptPlan;
  readonly drawing: Drawing | null;
}

export interface Drawing {
  readonly renderer: HistoryRenderer;
  readonly vision: VisionPreset;
  /** Segments that this process knows to be on record. */
  readonly recorded: Set<string>;
  /** Finds those of these segments that other processes put on record. */
  readonly findRecorded: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
}

/** What a step is asked with, and the image in it. */
export interface StepPrompt {
  readonly shown: ShownPrompt;
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
