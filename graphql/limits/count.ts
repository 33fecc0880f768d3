import type { DocumentNode } from 'graphql';
import { foldOperation, operationsOf } from './walk.ts';

/** What a document selects, without its variables; the largest of its operations. */
export interface Counts {
  readonly depth: number;
  readonly aliases: number;
  readonly fields: number;
}

const counted = new WeakMap<DocumentNode, Counts>();

/** Counts a parsed document, once: yoga keeps parsed documents, so a repeated query is not counted again. */
export function countDocument(document: DocumentNode): Counts {
  let counts = counted.get(document);
  if (!counts) {
    counts = operationsOf(document, undefined)
      .map((operation) => foldOperation<Counts, boolean>(document, operation, false, FOLD))
      .reduce(largest, NOTHING);
    counted.set(document, counts);
  }
  return counts;
}

const NOTHING: Counts = { depth: 0, aliases: 0, fields: 0 };

/** The scope says whether the fields lie in introspection, where depth is not counted. */
const FOLD = {
  empty: NOTHING,
  add: (a: Counts, b: Counts): Counts => ({
    depth: Math.max(a.depth, b.depth),
    aliases: a.aliases + b.aliases,
    fields: a.fields + b.fields,
  }),
  field: (
    node: { name: { value: string }; alias?: unknown },
    introspects: boolean,
    inner: (scope: boolean) => Counts,
  ): Counts => {
    const within = introspects || node.name.value.startsWith('__');
    const below = inner(within);
    return { depth: within ? 0 : below.depth + 1, aliases: below.aliases + (node.alias ? 1 : 0), fields: below.fields + 1 };
  },
  narrow: (introspects: boolean): boolean => introspects,
  key: String,
};

function largest(a: Counts, b: Counts): Counts {
  return { depth: Math.max(a.depth, b.depth), aliases: Math.max(a.aliases, b.aliases), fields: Math.max(a.fields, b.fields) };
}
