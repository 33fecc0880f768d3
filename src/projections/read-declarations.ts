import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/** What an event can put on record under an id that other events name. */
export type DeclaredKind =
  | 'run'
  | 'tree'
  | 'step'
  | 'rollout'
  | 'reward'
  | 'revision'
  | 'dataset'
  | 'annotation'
  | 'render-spec'
  | 'segment'
  | 'history'
  | 'prompt';

/** Something that an event puts on record. */
export interface Declaration {
  readonly kind: DeclaredKind;
  readonly id: string;
  readonly treeId: string | null;
  /** Of a step; null for all else. */
  readonly depth: number | null;
  /** Of a step: the rollout that took it; null for a root and a candidate of a search. */
  readonly rolloutId?: string | null;
}

/** Reads what is on record of the given ids of a kind, in one statement; ids that are not there are left out. */
export async function readDeclarations(db: Db, kind: DeclaredKind, ids: readonly string[]): Promise<readonly Declaration[]> {
  const { rows } = await LOOK_UPS[kind]([...ids]).execute(db);
  return rows.map(({ id, treeId, depth, rolloutId = null }) => ({ kind, id, treeId, depth, rolloutId }));
}

interface Row {
  readonly id: string;
  readonly treeId: string | null;
  readonly depth: number | null;
  /** Of steps alone. */
  readonly rolloutId?: string | null;
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
  annotation: (ids: string[]) =>
    sql<Row>`select annotation_id as id, tree_id, null as depth from annotations where annotation_id = any(${ids}::uuid[])`,
  'render-spec': (ids: string[]) =>
    sql<Row>`select render_spec_id as id, null as tree_id, null as depth from render_specs where render_spec_id = any(${ids}::text[])`,
  segment: (ids: string[]) =>
    sql<Row>`select segment_id as id, null as tree_id, null as depth from segments where segment_id = any(${ids}::text[])`,
  history: (ids: string[]) =>
    sql<Row>`select step_id as id, tree_id, null as depth from history_images where step_id = any(${ids}::uuid[])`,
  prompt: (ids: string[]) =>
    sql<Row>`select prompt_id as id, tree_id, null as depth from prompts where prompt_id = any(${ids}::uuid[])`,
  dataset: (ids: string[]) =>
    sql<Row>`select dataset_id as id, null as tree_id, null as depth from datasets where dataset_id = any(${ids}::uuid[])`,
} as const satisfies Record<DeclaredKind, (ids: string[]) => unknown>;
