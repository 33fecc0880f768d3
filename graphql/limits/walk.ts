import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';

/**
 * Folds a selection set from its leaves up. A fragment is folded once for each key, however often it is spread: a bomb of
 * fragments that spread fragments costs what its text costs. A fragment that spreads itself folds to `empty` here; validation
 * refuses it afterwards.
 */
export interface Fold<Result, Scope> {
  readonly empty: Result;
  add(a: Result, b: Result): Result;
  /** The result of a field, given that of its own selection set in the scope it opens. */
  field(node: FieldNode, scope: Scope, inner: (scope: Scope) => Result): Result;
  /** The scope of the selections that a type condition narrows. */
  narrow(scope: Scope, typeName: string): Scope;
  /** What distinguishes the results of one fragment: equal keys, equal results. */
  key(scope: Scope): string;
}

/** Folds one operation. */
export function foldOperation<Result, Scope>(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  scope: Scope,
  fold: Fold<Result, Scope>,
): Result {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  const known = new Map<string, Result>();
  const open = new Set<string>();

  function selections(set: SelectionSetNode, at: Scope): Result {
    let result = fold.empty;
    for (const node of set.selections) {
      if (node.kind === Kind.FIELD) {
        const inner = node.selectionSet;
        const field = fold.field(node, at, (next) => (inner ? selections(inner, next) : fold.empty));
        result = fold.add(result, field);
      } else if (node.kind === Kind.INLINE_FRAGMENT) {
        const next = node.typeCondition ? fold.narrow(at, node.typeCondition.name.value) : at;
        result = fold.add(result, selections(node.selectionSet, next));
      } else result = fold.add(result, spread(node.name.value, at));
    }
    return result;
  }

  function spread(name: string, at: Scope): Result {
    const fragment = fragments.get(name);
    if (!fragment || open.has(name)) return fold.empty;
    const next = fold.narrow(at, fragment.typeCondition.name.value);
    const key = `${name} ${fold.key(next)}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    open.add(name);
    const result = selections(fragment.selectionSet, next);
    open.delete(name);
    known.set(key, result);
    return result;
  }

  return selections(operation.selectionSet, scope);
}

/** Lists the operations of a document that a request means: the one it names, or all of them. */
export function operationsOf(document: DocumentNode, operationName: string | null | undefined): OperationDefinitionNode[] {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const named = operations.filter((node) => node.name?.value === operationName);
  return named.length > 0 ? named : operations;
}
