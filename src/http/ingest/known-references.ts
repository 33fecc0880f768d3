import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Declaration, Kind, Reference } from './references.ts';

/** What is on record, by kind and id. */
export interface Known {
  get(kind: Kind, id: string): Declaration | undefined;
}

/** Collects declarations, those of the same request and those that were looked up. */
export class KnownSet implements Known {
  readonly #byKey = new Map<string, Declaration>();

  get(kind: Kind, id: string): Declaration | undefined {
    return this.#byKey.get(`${kind} ${id}`);
  }

  add(declarations: readonly Declaration[]): void {
    for (const declaration of declarations) this.#byKey.set(`${declaration.kind} ${declaration.id}`, declaration);
  }
}

/** Looks references up in the read models, one statement for each kind that is asked for. */
export async function findKnown(db: Db, references: readonly Reference[]): Promise<readonly Declaration[]> {
  const found: Declaration[] = [];
  for (const kind of Object.keys(LOOK_UPS) as Kind[]) {
    const ids = [...new Set(references.filter((reference) => reference.kind === kind).map((reference) => reference.id))];
    if (ids.length === 0) continue;
    const { rows } = await LOOK_UPS[kind](ids).execute(db);
    for (const { id, tree_id: treeId, depth, rollout_id: rolloutId = null } of rows)
      found.push({ kind, id, treeId, depth, rolloutId });
  }
  return found;
}

interface Row {
  readonly id: string;
  readonly tree_id: string | null;
  readonly depth: number | null;
  /** Of steps alone. */
  readonly rollout_id?: string | null;
}

// Each by primary key.
const LOOK_UPS = {
  run: (ids: string[]) =>
    sql<Row>`select run_id as id, null as tree_id, null as depth from runs where run_id = any(${ids}::uuid[])`,
  tree: (ids: string[]) =>
    sql<Row>`select tree_id as id, null as tree_id, null as depth from trees where tree_id = any(${ids}::uuid[])`,
  step: (ids: string[]) =>
    sql<Row>`select step_id as id, tree_id, depth, rollout_id from steps where step_id = any(${ids}::uuid[])`,
  rollout: (ids: string[]) =>
    sql<Row>`select rollout_id as id, tree_id, null as depth from rollouts where rollout_id = any(${ids}::uuid[])`,
  reward: (ids: string[]) =>
    sql<Row>`select reward_id as id, tree_id, null as depth from rewards where reward_id = any(${ids}::uuid[])`,
  revision: (ids: string[]) =>
    sql<Row>`select revision_id as id, tree_id, null as depth from revisions where revision_id = any(${ids}::uuid[])`,
  'render-spec': (ids: string[]) =>
    sql<Row>`select render_spec_id as id, null as tree_id, null as depth from render_specs where render_spec_id = any(${ids}::text[])`,
  segment: (ids: string[]) =>
    sql<Row>`select segment_id as id, null as tree_id, null as depth from segments where segment_id = any(${ids}::text[])`,
  history: (ids: string[]) =>
    sql<Row>`select step_id as id, tree_id, null as depth from history_images where step_id = any(${ids}::uuid[])`,
  dataset: (ids: string[]) =>
    sql<Row>`select dataset_id as id, null as tree_id, null as depth from datasets where dataset_id = any(${ids}::uuid[])`,
} as const satisfies Record<Kind, (ids: string[]) => unknown>;
