import type fc from 'fast-check';
import type { Platform } from '../../src/platform/open-platform.ts';
import type { Stage } from './stage.ts';

/** What a target did with one case. */
export type Outcome =
  /** `appended` counts the events that it says to have put on record. */
  | { readonly kind: 'accepted'; readonly appended: number }
  /** `code` names the reason. */
  | { readonly kind: 'refused'; readonly code: string };

/** A way into the platform, and what is thrown at it. */
export interface Target<C = unknown> {
  readonly name: string;
  /** The part of the cases of a campaign that come here; 1 by default. Cases that wait for a time-out take less. */
  readonly share?: number;
  /** Tried in every campaign that is long enough: at most half of the cases. */
  readonly always: readonly C[];
  readonly cases: fc.Arbitrary<C>;
  readonly way: Way<C>;
  /** Ends what the cases share, behind the last of them. */
  readonly close?: () => Promise<void>;
}

/** Who answers, and how. All of them are processes of their own. @throws Broken when a rule does not hold. */
export type Way<C> =
  | { readonly process: 'api' | 'policy'; readonly send: (stage: Stage, sent: C) => Promise<Outcome> }
  /** What is no server: the function that reads a file or a text, called in another process. */
  | { readonly process: 'inside'; readonly within: (world: World, sent: C) => Promise<Outcome> };

/** What a function that is called in the other process depends on. */
export interface World {
  readonly platform: Platform;
  /** A folder for the files of one case, emptied behind it. */
  readonly folder: string;
}

/** A rule did not hold. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

/** Forgets what the cases of a target are, which only the target itself has to know. */
export function target<C>(given: Target<C>): Target {
  return given as unknown as Target; // cases come from `given.cases` and go to `given.way`, nowhere else
}

/** How long any target may take for one case, ms. */
export const LIMIT_MS = 20_000;
