import type { Packed } from '../src/events/schemas/values.ts';
import type { SegmentRecord } from '../src/projections/images/read-segments.ts';
import type { RecordedPrompt } from '../src/projections/prompts/read-prompts.ts';

/** Query has no properties of its own: every field of it is a resolver. */
export type Root = Readonly<Record<never, never>>;

/** A policy at a version, whether or not the record says what it was made of. */
export interface PolicyVersionModel {
  readonly id: string;
  readonly version: number;
}

export interface ReachedModel {
  readonly position: string;
  readonly waitedMs: number;
  readonly query: Root;
}

/** A segment at its place in a history; of its record what was asked for and is there. */
export interface HistorySegmentModel extends Partial<SegmentRecord> {
  readonly id: string;
  readonly place: number;
  readonly hit: boolean;
}

/** A prompt as the API shows it: images are looked up by their ids. */
export interface PromptModel extends Omit<RecordedPrompt, 'messages' | 'tokenIds'> {
  readonly messages: readonly PromptMessageModel[];
  readonly tokens: { readonly ids: Packed; readonly before: number | null; readonly kept: number | null } | null;
}
export interface PromptMessageModel {
  readonly role: string;
  readonly parts: readonly PromptPartModel[];
}
export interface PromptPartModel {
  readonly text: string | null;
  readonly imageId: string | null;
}
