import type { Draft } from '../../append/appender.ts';
import { EventRefused } from '../../append/prepare-events.ts';
import { groupBy } from '../../domain/group-by.ts';
import { catalogue, type DataOf } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { formatPosition, positionAfter } from '../../log/position.ts';
import { type AppendingWorld, openAppender } from '../../platform/open-appender.ts';
import { may, owns, type Principal } from '../../postgres/principal.ts';
import { AmbiguousId, treesNamed } from '../../projections/ambiguous-id.ts';
import { annotations } from '../../projections/annotations/annotations.ts';
import { idOf, type Located, locateSubjects, nameOf, type Subject } from '../../projections/annotations/locate-subjects.ts';
import { type AnnotationRecord, readAnnotationsById } from '../../projections/annotations/read-annotations.ts';
import { journal } from '../../projections/journal/journal.ts';
import { keyInTree, type OfTree } from '../../projections/of-tree.ts';
import { rewards } from '../../projections/rewards/rewards.ts';
import { stepTree } from '../../projections/step-tree/step-tree.ts';
import { visibleTo } from '../../projections/visible-to.ts';
import { ProjectionsBehind, waitUntilProjected } from '../../projections/wait-until.ts';
import { createExclusive } from '../../runtime/exclusive.ts';
import { FeedbackRefused, feedbackDrafts, type NewFeedback } from './feedback.ts';

/** What somebody says of something: a label, a score, a note, at least one of them. */
export interface NewAnnotation extends Pick<DataOf<'AnnotationAdded'>, 'label' | 'score' | 'note'> {
  /** A UUID of the caller's own, so that a repetition is recognised; a new one unless given. */
  readonly id?: string;
  readonly subject: Subject;
  /** The tree of the subject, where several have one under its id. */
  readonly inTree?: string;
}

export type AnnotateRequest =
  | { readonly kind: 'add'; readonly annotations: readonly NewAnnotation[] }
  | { readonly kind: 'retract'; readonly ids: readonly string[]; readonly inTree?: string; readonly reason: string }
  | { readonly kind: 'feedback'; readonly feedback: readonly NewFeedback[] };

export type AnnotateReply =
  /** All is on record, each annotation in the tree at its place; `position` is empty where it was before. */
  | {
      readonly kind: 'recorded';
      readonly ids: readonly string[];
      readonly treeIds: readonly string[];
      readonly position: string;
    }
  | {
      readonly kind: 'refused';
      readonly code: 'forbidden' | 'unknown' | 'invalid' | 'conflict' | 'unavailable';
      readonly message: string;
    };

/** Adds annotations, retracts them or records feedback, all of a call or none, for who asks. */
export type Annotate = (asked: AnnotateRequest, principal: Principal) => Promise<AnnotateReply>;

type Refused = Extract<AnnotateReply, { kind: 'refused' }>;

export interface AnnotateWorld extends AppendingWorld {
  /** How long to wait for the read models. */
  readonly catchUpMs?: number;
}

/** In one call. */
export const ANNOTATIONS_LIMIT = 500;
const PRODUCER = 'annotator';
const CATCH_UP_MS = 10_000;
const SHOWN_MS = 2_000; // that a caller waits for what it wrote to be read; it is on record already

/**
 * Opens the recording of annotations. Whoever has the scope `annotate` annotates what it sees; an annotation is retracted by who
 * added it, or by an administrator. It is an event of the tree that its subject belongs to, in the project of that.
 */
export function openAnnotate({ catchUpMs = CATCH_UP_MS, ...world }: AnnotateWorld): Annotate {
  const { db } = world.database;
  const exclusive = createExclusive();

  async function folded(kind: AnnotateRequest['kind']): Promise<void> {
    const ends = await world.log.ends(['trees']);
    const read = [journal, annotations, ...(kind === 'feedback' ? [rewards, stepTree] : [])];
    await waitUntilProjected(db, ends, { timeoutMs: catchUpMs, projections: read });
  }

  async function add(given: readonly NewAnnotation[], principal: Principal): Promise<AnnotateReply> {
    const named = given.map((annotation) => ({ ...annotation, id: annotation.id ?? newId() }));
    if (new Set(named.map(({ id }) => id)).size < named.length)
      return refused('invalid', 'an id is given twice; give each its own');
    const seen = visibleTo(db, principal);
    const subjects = named.map(({ subject }) => subject);
    const located = await locateSubjects(
      seen,
      named.map(({ subject, inTree = null }) => ({ subject, inTree })),
    ).catch((error: unknown) => {
      if (error instanceof AmbiguousId) return error;
      throw error;
    });
    if (located instanceof AmbiguousId) return refused('invalid', `${located.message}; nothing was recorded`);
    const unknown = subjects.filter((_, place) => !located.has(place));
    if (unknown[0]) return refused('unknown', `no ${nameOf(unknown[0])} is on record; nothing was recorded`);
    const ids = named.map(({ id }) => id);
    const before = new Map((await readAnnotationsById(db, ids)).map((row) => [keyInTree(row.treeId, row.id), row]));
    const known = named.map(({ id }, place) => before.get(keyInTree(located.get(place)?.treeId ?? '', id)));
    const drafts = named.flatMap((annotation, place): Draft<'AnnotationAdded'>[] => {
      const at = located.get(place);
      return at && !known[place] ? [draftOf(annotation, at)] : [];
    });
    if (named.some(({ label, score, note }) => label === null && score === null && note === ''))
      return refused('invalid', 'an annotation needs a label, a score or a note; nothing was recorded');
    for (const draft of drafts) {
      const { error } = catalogue.AnnotationAdded.data.safeParse(draft.data);
      if (error)
        return refused('invalid', `${error.issues[0]?.path.join('.')} ${error.issues[0]?.message}; nothing was recorded`);
    }
    for (const [place, annotation] of named.entries()) {
      const same = known[place];
      if (same && !isSame(same, annotation))
        return refused('conflict', `the id ${annotation.id} belongs to another annotation; give a new one a new id`);
    }
    return append(
      drafts,
      named.map(({ id }, place) => ({ id, treeId: located.get(place)?.treeId ?? '' })),
      principal,
    );
  }

  async function retract(
    { ids, inTree, reason }: Extract<AnnotateRequest, { kind: 'retract' }>,
    principal: Principal,
  ): Promise<AnnotateReply> {
    const seen = await readAnnotationsById(visibleTo(db, principal), ids);
    const lists = groupBy(
      seen.filter(({ treeId }) => inTree === undefined || treeId === inTree),
      ({ id }) => id,
    );
    const unknown = ids.find((id) => !lists.has(id));
    if (unknown !== undefined) return refused('unknown', `no annotation ${unknown} is on record; nothing was recorded`);
    const rows: AnnotationRecord[] = [];
    for (const [id, found] of lists) {
      // another's annotation of another tree under the same id is not meant
      const [row, ...others] = may(principal, 'admin') ? found : found.filter((each) => owns(principal, each.principal));
      if (!row)
        return refused(
          'forbidden',
          `annotation ${id} was added by ${found[0]?.principal}, and this is ${principal.principal}: who added it retracts it, or a key with the scope admin`,
        );
      if (others.length > 0)
        return refused(
          'invalid',
          `annotation ${id} is ambiguous: the trees ${treesNamed([row, ...others])} have one each; name the tree that is meant; nothing was recorded`,
        );
      rows.push(row);
    }
    const drafts = rows.flatMap(({ id, treeId, runId, retractedAt }): Draft<'AnnotationRetracted'>[] =>
      retractedAt === null
        ? [{ type: 'AnnotationRetracted', correlationId: runId, causationId: id, data: { annotationId: id, treeId, reason } }]
        : [],
    );
    return append(drafts, rows, principal);
  }

  async function feedback(given: readonly NewFeedback[], principal: Principal): Promise<AnnotateReply> {
    try {
      const { drafts, of } = await feedbackDrafts(visibleTo(db, principal), given, principal);
      return await append(drafts, of, principal);
    } catch (error) {
      if (error instanceof FeedbackRefused) return refused(error.code, error.message);
      if (error instanceof AmbiguousId) return refused('invalid', `${error.message}; nothing was recorded`);
      throw error;
    }
  }

  async function append(drafts: readonly Draft[], of: readonly OfTree[], principal: Principal): Promise<AnnotateReply> {
    const [ids, treeIds] = [of.map(({ id }) => id), of.map(({ treeId }) => treeId)];
    if (drafts.length === 0) return { kind: 'recorded', ids, treeIds, position: '' };
    // Of a stream that other processes annotate too, the record says the next number.
    const appender = openAppender({ ...world, stamp: { principal: principal.principal, project: principal.project } }, PRODUCER);
    const position = positionAfter(await appender.append(drafts));
    const shown = drafts.some(({ type }) => rewards.handles.includes(type)) ? [annotations, rewards] : [annotations];
    await waitUntilProjected(db, position, { timeoutMs: SHOWN_MS, projections: shown }).catch((error: unknown) => {
      if (!(error instanceof ProjectionsBehind)) throw error;
    });
    return { kind: 'recorded', ids, treeIds, position: formatPosition(position) };
  }

  return async (asked, principal) => {
    const [what, scopes] =
      asked.kind === 'feedback' ? (['feedback', ['judge', 'annotate']] as const) : (['annotating', ['annotate']] as const);
    if (!scopes.every((scope) => may(principal, scope)))
      return refused(
        'forbidden',
        `the key ${JSON.stringify(principal.name)} has the scopes ${principal.scopes.join(', ') || 'none'}; ${what} needs ${scopes.join(' and ')}: make a key with \`espalier keys create --name NAME --scopes read,${scopes.join(',')}\``,
      );
    const count = countOf(asked);
    if (count < 1 || count > ANNOTATIONS_LIMIT)
      return refused('invalid', `a call takes 1 to ${ANNOTATIONS_LIMIT} annotations, not ${count}; send them in several calls`);
    try {
      return await exclusive.run(['annotations'], async () => {
        await folded(asked.kind); // what was said a moment ago is known, and numbers go on from the last
        if (asked.kind === 'feedback') return feedback(asked.feedback, principal);
        return asked.kind === 'add' ? add(asked.annotations, principal) : retract(asked, principal);
      });
    } catch (error) {
      if (error instanceof ProjectionsBehind) return refused('unavailable', `${error.message}; nothing was recorded`);
      if (error instanceof EventRefused) return refused('invalid', error.message);
      throw error;
    }
  };
}

function countOf(asked: AnnotateRequest): number {
  if (asked.kind === 'feedback') return asked.feedback.length;
  return asked.kind === 'add' ? asked.annotations.length : asked.ids.length;
}

function draftOf(
  { id, subject, label, score, note }: NewAnnotation & { id: string },
  { treeId, runId }: Located,
): Draft<'AnnotationAdded'> {
  const of = subject.kind === 'tree' ? { kind: subject.kind } : subject;
  return {
    type: 'AnnotationAdded',
    id,
    correlationId: runId,
    data: { annotationId: id, treeId, subject: of, label, score, note },
  };
}

function isSame(record: AnnotationRecord, { subject, label, score, note }: NewAnnotation): boolean {
  const said = record.label === label && record.score === score && record.note === note;
  return said && record.kind === subject.kind && isOf(record, subject);
}

function isOf({ stepId, rolloutId, revisionId, datasetId, treeId, line }: AnnotationRecord, subject: Subject): boolean {
  const of = { step: stepId, rollout: rolloutId, revision: revisionId, row: datasetId, tree: treeId }[subject.kind];
  return of === idOf(subject) && (subject.kind !== 'row' || subject.line === line);
}

function refused(code: Refused['code'], message: string): Refused {
  return { kind: 'refused', code, message };
}
