import { groupBy } from '../../src/domain/group-by.ts';
import { readKeysOfPrincipals } from '../../src/postgres/keys.ts';
import type { Subject } from '../../src/projections/annotations/locate-subjects.ts';
import {
  ANNOTATION_ORDERINGS,
  type AnnotationRecord,
  countAnnotations,
  readAnnotationPages,
  readAnnotationsById,
  readAnnotationsOfTrees,
} from '../../src/projections/annotations/read-annotations.ts';
import { keyInTree } from '../../src/projections/of-tree.ts';
import type { AnnotateReply, AnnotateRequest, NewAnnotation } from '../../src/usecases/annotate/annotate.ts';
import type { NewFeedback } from '../../src/usecases/annotate/feedback.ts';
import { argumentId, optionalId } from '../argument-id.ts';
import { assertListLimit } from '../assert-list-limit.ts';
import { type Connection, connect } from '../connection.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import { annotationFilter } from '../filters.ts';
import type * as input from '../generated/types.ts';
import type { AnnotationResolvers, AnnotationsRecordedResolvers, MutationResolvers } from '../generated/types.ts';
import { mapped, one, oneOfTree, readFrom } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';

export const annotate: NonNullable<MutationResolvers['annotate']> = (_, args, context) =>
  record(
    { kind: 'add', annotations: args.annotations.map((given, place) => newAnnotation(given, `annotations.${place}`)) },
    context,
  );

export const retractAnnotations: NonNullable<MutationResolvers['retractAnnotations']> = (_, { ids, tree, reason }, context) => {
  const inTree = optionalId('tree', tree);
  const of = inTree === undefined ? {} : { inTree };
  return record({ kind: 'retract', ids: ids.map((id) => argumentId('ids', id)), ...of, reason }, context);
};

export const giveFeedback: NonNullable<MutationResolvers['giveFeedback']> = (_, args, context) => {
  const feedback = args.feedback.map((given, place): NewFeedback => {
    const argument = `feedback.${place}`;
    const { of, row, value, component, by, comment } = given;
    const inTree = optionalId(`${argument}.inTree`, given.inTree);
    if ((of == null) === (row == null)) throw refusal('BAD_USER_INPUT', `${argument} must name one of of and row`, { argument });
    const named = row == null ? (of ?? '') : { datasetId: argumentId(`${argument}.row.dataset`, row.dataset), line: row.line };
    const within = inTree === undefined ? {} : { inTree };
    return { of: named, ...within, value, component: component ?? 'feedback', by, comment: comment ?? '' };
  });
  return record({ kind: 'feedback', feedback }, context);
};

/** Has annotations recorded. @throws FORBIDDEN, NOT_ON_RECORD, CONFLICT, BAD_USER_INPUT or UNAVAILABLE. */
async function record(request: AnnotateRequest, { sources, principal }: Context) {
  if (!sources.annotate) throw refusal('UNAVAILABLE', 'this server records no annotations; ask one that `espalier up` started');
  const annotated = await sources.annotate(request, principal);
  if (annotated.kind === 'refused') throw refusal(CODES[annotated.code], annotated.message);
  return annotated;
}

const CODES: Readonly<Record<Extract<AnnotateReply, { kind: 'refused' }>['code'], ErrorCode>> = {
  forbidden: 'FORBIDDEN',
  unknown: 'NOT_ON_RECORD',
  invalid: 'BAD_USER_INPUT',
  conflict: 'CONFLICT',
  unavailable: 'UNAVAILABLE',
};

function newAnnotation(given: input.NewAnnotation, argument: string): NewAnnotation {
  const { id, label, score, note } = given;
  const inTree = optionalId(`${argument}.inTree`, given.inTree);
  return {
    ...(id == null ? {} : { id: argumentId(`${argument}.id`, id) }),
    subject: subjectOf(given, argument),
    ...(inTree === undefined ? {} : { inTree }),
    label: label ?? null,
    score: score ?? null,
    note: note ?? '',
  };
}

function subjectOf({ step, rollout, revision, tree, row }: input.NewAnnotation, argument: string): Subject {
  const at = (field: string, id: string) => argumentId(`${argument}.${field}`, id);
  const named: Subject[] = [];
  if (step != null) named.push({ kind: 'step', stepId: at('step', step) });
  if (rollout != null) named.push({ kind: 'rollout', rolloutId: at('rollout', rollout) });
  if (revision != null) named.push({ kind: 'revision', revisionId: at('revision', revision) });
  if (tree != null) named.push({ kind: 'tree', treeId: at('tree', tree) });
  if (row != null) named.push({ kind: 'row', datasetId: at('row.dataset', row.dataset), line: row.line });
  const [subject] = named;
  if (subject && named.length === 1) return subject;
  throw refusal('BAD_USER_INPUT', `${argument} must name one of step, rollout, revision, tree and row, not ${named.length}`, {
    argument,
  });
}

export const AnnotationsRecorded: AnnotationsRecordedResolvers = {
  annotations: async ({ ids, treeIds }, _, context) => {
    const rows = await readAnnotationsById(context.sources.db, ids);
    const found = new Map(rows.map((row) => [keyInTree(row.treeId, row.id), row]));
    return ids.flatMap((id, place) => found.get(keyInTree(treeIds[place] ?? '', id)) ?? []);
  },
};

export const Annotation: AnnotationResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  run: ({ runId }, _, { loaders }) => loaders.run.load(runId),
  step: ({ treeId, stepId: id }, _, { loaders }) => (id === null ? null : loaders.step.load({ treeId, id })),
  rollout: ({ treeId, rolloutId: id }, _, { loaders }) => (id === null ? null : loaders.rollout.load({ treeId, id })),
  revision: ({ treeId, revisionId: id }, _, { loaders }) => (id === null ? null : loaders.revision.load({ treeId, id })),
  dataset: ({ datasetId }, _, { loaders }) => (datasetId === null ? null : loaders.dataset.load(datasetId)),
  author: ({ principal }, _, context) => (principal === 'local' ? 'local' : authorName(context).load(principal)),
};

const authorName = loadedBy((_, { sources: { keys } }) =>
  mapped(async (principals) => {
    const found = await readKeysOfPrincipals(keys, principals);
    return new Map([...found].map(([principal, { name }]) => [principal, name]));
  }),
);

/** Loads annotations by their ids, retracted ones too. */
export const annotationById = loadedBy((db) => one(readFrom(db)(readAnnotationsById), ({ id }) => id));

/** Loads annotations of trees. */
export const annotationOfTree = loadedBy((db) =>
  oneOfTree((annotations) =>
    readAnnotationsById(
      db,
      annotations.map(({ id }) => id),
    ),
  ),
);

const ofTree = loadedBy((db) =>
  mapped(async (trees) => {
    const lists = groupBy(await readAnnotationsOfTrees(db, trees), ({ treeId }) => treeId);
    return new Map([...lists].map(([treeId, list]) => [treeId, groupBy(list, subjectKey)]));
  }),
);

/** Returns what is said of one subject and was not retracted; a row is named by its dataset and line with a blank between. */
export async function annotationsOf(
  context: Context,
  kind: AnnotationRecord['kind'],
  id: string,
  treeId: string,
): Promise<readonly AnnotationRecord[]> {
  return assertListLimit((await ofTree(context).load(treeId))?.get(`${kind} ${id}`) ?? []);
}

function subjectKey({ kind, stepId, rolloutId, revisionId, datasetId, line, treeId }: AnnotationRecord): string {
  const id = { step: stepId, rollout: rolloutId, revision: revisionId, row: `${datasetId} ${line}`, tree: treeId }[kind];
  return `${kind} ${id}`;
}

/** Answers `Query.annotations`. */
export function connectAnnotations(
  args: input.RequireFields<input.QueryAnnotationsArgs, 'orderBy'>,
  { sources: { db } }: Context,
): Promise<Connection<AnnotationRecord>> {
  const filter = annotationFilter(args.filter);
  return connect(
    args,
    async (page) => {
      const [found] = await readAnnotationPages(db, [filter], ANNOTATION_ORDERINGS[args.orderBy], page);
      if (!found) throw new Error('one query has one page');
      return found;
    },
    async () => (await countAnnotations(db, [filter]))[0] ?? 0,
  );
}
