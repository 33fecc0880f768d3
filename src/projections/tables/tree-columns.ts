import { type RawBuilder, sql } from 'kysely';
import type { TableColumn } from './table-column.ts';

/** The columns that say where a row lies. */
export const WHERE: readonly TableColumn[] = [
  { name: 'run_id', type: 'utf8', value: sql`trees.run_id::text`, says: 'Id of the run.' },
  { name: 'tree_id', type: 'utf8', value: sql`trees.tree_id::text`, says: 'Id of the tree, which is the group.' },
];

/** The columns that say what its tree was opened for. */
export const TASK: readonly TableColumn[] = [
  { name: 'task_id', type: 'utf8', value: sql`trees.task_id::text`, says: 'Id of the task.' },
  { name: 'task', type: 'utf8', value: sql`trees.alias`, says: 'Name of the task in its environment.' },
  { name: 'environment', type: 'utf8', value: sql`trees.environment`, says: 'The environment.' },
  { name: 'split', type: 'utf8', value: sql`trees.split`, says: 'Split of the task.' },
  { name: 'task_depth', type: 'int32', value: sql`trees.task_depth`, says: 'Depth of the task.' },
];

/** Whether something of the payload is forgotten is added behind the read: the keys of streams belong to no project. */
export const FORGOTTEN: TableColumn = {
  name: 'forgotten',
  type: 'bool',
  value: sql`false`,
  says: 'Something of the payload of the tree is forgotten; then the columns of payload are null.',
};

/** The columns of what a row is annotated with. @param of the condition on an annotation `n`. */
export function annotationColumns(of: RawBuilder<unknown>): readonly TableColumn[] {
  const said = sql`from annotations n where ${of} and n.retracted_at is null`;
  return [
    {
      name: 'labels',
      type: 'utf8',
      value: sql`(select string_agg(distinct n.label, ',' order by n.label) ${said})`,
      says: 'The labels that it is annotated with, with commas between them; null without one.',
    },
    {
      name: 'annotation_score',
      type: 'float64',
      value: sql`(select avg(n.score order by n.annotation_id) ${said})`,
      says: 'The mean score of its annotations; null without one.',
    },
  ];
}
