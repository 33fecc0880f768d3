import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';
import type { Tables } from '../postgres/tables.ts';

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
  /** Of a tree: its run. */
  readonly runId?: string | null;
}

/** Reads what is on record of the given ids of a kind, in one statement; ids that are not there are left out. */
export async function readDeclarations(db: Db, kind: DeclaredKind, ids: readonly string[]): Promise<readonly Declaration[]> {
  const [table, key, ...more] = LOOK_UPS[kind];
  const columns = [sql`${sql.ref(key)} as id`, ...more.map((column) => sql.ref(column))];
  const { rows } = await sql<Pick<Declaration, 'id'> & Partial<Declaration>>`
    select ${sql.join(columns)} from ${sql.table(table)} where ${sql.ref(key)} = any(${[...ids]})`.execute(db);
  return rows.map(({ id, treeId = null, depth = null, rolloutId = null, runId = null }) => ({
    kind,
    id,
    treeId,
    depth,
    rolloutId,
    runId,
  }));
}

/** The table of a kind, its primary key, and what is read besides. */
const LOOK_UPS: Record<DeclaredKind, readonly [table: keyof Tables, key: string, ...more: (keyof Declaration)[]]> = {
  run: ['runs', 'runId'],
  tree: ['trees', 'treeId', 'runId'],
  step: ['steps', 'stepId', 'treeId', 'depth', 'rolloutId'],
  rollout: ['rollouts', 'rolloutId', 'treeId'],
  reward: ['rewards', 'rewardId', 'treeId'],
  revision: ['revisions', 'revisionId', 'treeId'],
  annotation: ['annotations', 'annotationId', 'treeId'],
  'render-spec': ['renderSpecs', 'renderSpecId'],
  segment: ['segments', 'segmentId'],
  history: ['historyImages', 'stepId', 'treeId'],
  prompt: ['prompts', 'promptId', 'treeId'],
  dataset: ['datasets', 'datasetId'],
};
