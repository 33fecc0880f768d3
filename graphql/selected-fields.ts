import { type FieldNode, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

/**
 * Lists what a query selects right below the field being resolved, through its fragments, by the name of the field. It may hold
 * more than will be answered (`@skip`, fragments on other types), never less: use it to leave out what nobody asked for, and to
 * read ahead.
 */
export function selectedFields({
  fieldNodes,
  fragments,
}: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>): ReadonlyMap<string, readonly FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  const seen = new Set<string>();
  const collect = (set: SelectionSetNode | undefined): void => {
    for (const node of set?.selections ?? []) {
      if (node.kind === Kind.FIELD) fields.set(node.name.value, [...(fields.get(node.name.value) ?? []), node]);
      else if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet);
      else if (!seen.has(node.name.value)) {
        seen.add(node.name.value);
        collect(fragments[node.name.value]?.selectionSet);
      }
    }
  };
  for (const node of fieldNodes) collect(node.selectionSet);
  return fields;
}
