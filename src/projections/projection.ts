import { largest } from '../domain/extremes.ts';
import type { EventType } from '../events/catalogue.ts';
import type { Delivery, Envelope } from '../events/envelope.ts';
import type { Trx } from '../postgres/database.ts';

/**
 * Code that folds events into tables. `project` is a pure fold of the batch in memory, then a few bulk statements in the
 * transaction that also moves the cursor. Rows are keyed by ids from events, so a second delivery or a second append changes
 * nothing. Inside the transaction the search path begins with the projection's own schema: its SQL names tables plainly and a
 * rebuild runs it elsewhere.
 */
export interface Projection {
  readonly name: string;
  readonly version: number;
  /** The types it folds; 'all' also gets what cannot be decoded into its quarantine. */
  readonly handles: readonly EventType[] | 'all';
  /** Whether it is offered events without effect too (superseded ones, repeated ones): the record itself holds them. */
  readonly keepsWithoutEffect?: true;
  /** Whether an event of its types changes none of its tables: a slice of such events moves the cursor alone. */
  skips?(delivery: Delivery): boolean;
  /**
   * Folds one slice of a partition, in offset order. Returns what breaks an invariant, with the reason: the runner quarantines
   * it.
   */
  project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]>;
}

/** An event that a projection refuses: its delivery, the field that is wrong, and the reason with the remedy. */
export interface Poison {
  readonly delivery: Delivery;
  readonly code:
    | 'unstorable'
    | 'missing-parent'
    | 'missing-tree'
    | 'missing-rollout'
    | 'missing-run'
    | 'missing-recorder'
    | 'not-taken'
    | 'missing-reward'
    | 'missing-revision'
    | 'missing-dataset'
    | 'missing-batch'
    | 'missing-history'
    | 'missing-prompt'
    | 'missing-annotation'
    | 'digest'
    | 'range'
    | 'conflict'
    | 'depth'
    | 'steps';
  readonly field: string;
  readonly reason: string;
}

/** Narrows a delivery to one event type. */
export function isOf<T extends EventType>(delivery: Delivery, type: T): delivery is Delivery<Envelope<T>> {
  return delivery.event.type === type;
}

/** Versions from here on are builds of the same code: `version + k * BUILD` is its k-th fold again, its build k + 1. */
const BUILD = 1_000_000;

/** Returns the version of the code that folds a version: that of its tables and meaning. */
export function codeVersionOf(version: number): number {
  return version % BUILD;
}

/** Returns which fold again by the same code a version is, from 1. */
export function buildOf(version: number): number {
  return Math.floor(version / BUILD) + 1;
}

/** Returns the next version of the same code, above all those that there are. */
export function nextBuild(code: number, versions: readonly number[]): number {
  const builds = versions.filter((version) => codeVersionOf(version) === code);
  return builds.length === 0 ? code : largest(builds) + BUILD;
}

/** Folds by the same code into another version of the live projection. */
export function atVersion(projection: Projection, version: number): Projection {
  return { ...projection, version };
}

/** Folds into a version next to the live one: its cursors and its quarantine have a name of their own. */
export function shadowVersion(projection: Projection, version: number): Projection {
  return { ...projection, name: `${projection.name}@${version}`, version };
}

/**
 * Returns the schema that holds a version of a projection's tables: `step-tree` version 1 → `step_tree_v1`, its second build →
 * `step_tree_v1_b2`; also where it is a shadow version.
 */
export function schemaNameOf({ name, version }: { readonly name: string; readonly version: number }): string {
  const build = buildOf(version);
  return `${name.replace(/@\d+$/, '').replaceAll('-', '_')}_v${codeVersionOf(version)}${build > 1 ? `_b${build}` : ''}`;
}
