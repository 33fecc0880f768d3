import type { Tensor } from './safetensors.ts';

/**
 * `step`: one row per step, what candidate policies and step-level trainers read. `verl`: one row per trajectory, as token
 * trainers read it, or per cut of it. `padded`: the same as rectangles.
 */
export const LAYOUTS = ['step', 'verl', 'padded'] as const;

export type Layout = (typeof LAYOUTS)[number];

/** The columns of a layout, and the texts that belong to them. */
export interface LaidOut {
  readonly kind: 'laid-out';
  readonly tensors: readonly Tensor[];
  /** As JSON in the tensor `texts`. */
  readonly texts: unknown;
  /** What each row is, by position. */
  readonly names: unknown;
}

/** The record does not hold what a layout needs. */
export interface NotLaidOut {
  readonly kind: 'refused';
  readonly message: string;
  readonly remedy: string;
}
