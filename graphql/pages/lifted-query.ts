import { type FragmentDefinitionNode, Kind, parse, print, type SelectionNode, type SelectionSetNode } from 'graphql';
import type { Operation } from '../studio/operation.ts';

/** An operation of the studio, and the fields that lead to what it asks of one thing: `step`, `tree steps`. */
export interface Lifted {
  readonly operation: Pick<Operation<unknown, never>, 'text'>;
  readonly at: readonly string[];
}

/**
 * Returns a query that asks of many things at once what operations of the studio ask of one each: `{}` in `around` is where
 * those are. What the studio asks changes, and the page with it.
 */
export function liftedQuery(around: string, lifted: readonly Lifted[]): string {
  const fragments = new Map<string, FragmentDefinitionNode>();
  const selections = lifted.flatMap(({ operation, at }) => {
    const { definitions } = parse(operation.text);
    for (const each of definitions) if (each.kind === Kind.FRAGMENT_DEFINITION) fragments.set(each.name.value, each);
    const [query] = definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION);
    if (!query) throw new Error('an operation of the studio has no definition');
    return selectedAt(query.selectionSet, at);
  });
  const asked = selections.map(print).join('\n');
  return [around.replace('{}', () => `{ ${asked} }`), ...[...fragments.values()].map(print)].join('\n');
}

function selectedAt({ selections }: SelectionSetNode, [name, ...rest]: readonly string[]): readonly SelectionNode[] {
  if (name === undefined) return selections;
  const field = selections.find((each) => each.kind === Kind.FIELD && each.name.value === name);
  if (field?.kind !== Kind.FIELD || !field.selectionSet) throw new Error(`an operation of the studio does not ask for ${name}`);
  return selectedAt(field.selectionSet, rest);
}
