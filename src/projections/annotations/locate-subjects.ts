import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';
import { AmbiguousId } from '../ambiguous-id.ts';

/** What can be annotated: as in the event, a whole tree by its id. */
export type Subject =
  | Exclude<DataOf<'AnnotationAdded'>['subject'], { kind: 'tree' }>
  | { readonly kind: 'tree'; readonly treeId: string };

/** A subject and its tree, where several have one under its id; null: the id says it alone. */
export interface SubjectNamed {
  readonly subject: Subject;
  readonly inTree: string | null;
}

/** The tree that a subject belongs to, and the run of that. */
export interface Located {
  readonly treeId: string;
  readonly runId: string;
}

/**
 * Returns where each subject lies, by its place in the list; what is not on record is left out. A statement for each kind.
 * @throws AmbiguousId where several trees have a subject.
 */
export async function locateSubjects(db: Db, named: readonly SubjectNamed[]): Promise<ReadonlyMap<number, Located>> {
  const located = new Map<number, Located>();
  for (const kind of new Set(named.map(({ subject }) => subject.kind))) {
    const asked = named.flatMap(({ subject, inTree }, place) =>
      subject.kind === kind ? [{ place, id: idOf(subject), line: lineOf(subject), tree: inTree }] : [],
    );
    const list = sql`jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as a(place integer, id uuid, line integer, tree uuid)`;
    const { rows } = await sql<Located & { readonly place: number }>`
      select a.place, t.tree_id, t.run_id from ${list} ${PLACES[kind]}
      where a.tree is null or t.tree_id = a.tree`.execute(db);
    for (const { place, treeId, runId } of rows) {
      const subject = named[place]?.subject;
      if (subject && located.has(place))
        throw new AmbiguousId(
          subject.kind,
          idOf(subject),
          rows.filter((row) => row.place === place),
        );
      located.set(place, { treeId, runId });
    }
  }
  return located;
}

const PLACES = {
  step: sql`join steps x on x.step_id = a.id join trees t on t.tree_id = x.tree_id`,
  rollout: sql`join rollouts x on x.rollout_id = a.id join trees t on t.tree_id = x.tree_id`,
  revision: sql`join revisions x on x.revision_id = a.id join trees t on t.tree_id = x.tree_id`,
  row: sql`join dataset_examples x on (x.dataset_id, x.line) = (a.id, a.line) join trees t on t.tree_id = x.tree_id`,
  tree: sql`join trees t on t.tree_id = a.id`,
} as const satisfies Record<Subject['kind'], unknown>;

/** Returns the id of a subject, of a row that of its dataset. */
export function idOf(subject: Subject): string {
  switch (subject.kind) {
    case 'step':
      return subject.stepId;
    case 'rollout':
      return subject.rolloutId;
    case 'revision':
      return subject.revisionId;
    case 'row':
      return subject.datasetId;
    case 'tree':
      return subject.treeId;
    default:
      return subject satisfies never;
  }
}

function lineOf(subject: Subject): number | null {
  return subject.kind === 'row' ? subject.line : null;
}

/** Returns what a subject is, for people. */
export function nameOf(subject: Subject): string {
  return subject.kind === 'row' ? `row ${subject.line} of dataset ${subject.datasetId}` : `${subject.kind} ${idOf(subject)}`;
}
