import type { StepResult } from './environment.ts';
import { sameText } from './same-text.ts';
import { picturesOf } from './with-pictures.ts';

/** Pictures by their ids, in order. */
export type PictureIds = readonly { readonly imageId: string }[];

/** What the record holds of an observation. */
export interface RecordedObservation {
  readonly observation: string;
  /** Left out by who does not know them: the texts alone are compared then. */
  readonly pictures?: PictureIds | undefined;
}

/** Compares what an environment shows now with what is recorded: the text as it is stored, and the pictures by their ids. */
export function sameObservation(
  fresh: Pick<StepResult, 'observation' | 'pictures'>,
  { observation, pictures }: RecordedObservation,
): boolean {
  if (!sameText(fresh.observation, observation)) return false;
  return pictures === undefined || pictureNames(picturesOf(fresh)) === pictureNames(pictures);
}

/** Names pictures by their ids. */
export function pictureNames(pictures: PictureIds): string {
  return pictures.map(({ imageId }) => imageId).join();
}

/** Writes an observation for a report: its text, and each of its pictures by its id. */
export function observationText({ observation, pictures = [] }: RecordedObservation): string {
  return [observation, ...pictures.map(({ imageId }) => `[picture ${imageId}]`)].join('\n');
}

/** Writes for a report what an environment shows now. */
export function shownText(fresh: Pick<StepResult, 'observation' | 'pictures'>): string {
  return observationText({ observation: fresh.observation, pictures: picturesOf(fresh) });
}
