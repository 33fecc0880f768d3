import type { Db } from '../../postgres/database.ts';
import { type Declaration, type DeclaredKind, readDeclarations } from '../../projections/read-declarations.ts';
import type { Reference } from './references.ts';

/** What is on record, by kind and id: of an id that several trees have, that of the tree, or else any. */
export interface Known {
  get(kind: DeclaredKind, id: string, treeId: string | null): Declaration | undefined;
}

/** Collects declarations, those of the same request and those that were looked up. */
export class KnownSet implements Known {
  readonly #kinds = new Map<DeclaredKind, Map<string, readonly Declaration[]>>(); // a key made of both would be made for each question

  get(kind: DeclaredKind, id: string, treeId: string | null): Declaration | undefined {
    const declared = this.#kinds.get(kind)?.get(id);
    return declared?.find((one) => one.treeId === treeId) ?? declared?.[0];
  }

  add(declarations: readonly Declaration[]): void {
    for (const declaration of declarations) {
      const { kind, id, treeId } = declaration;
      const known = this.#kinds.get(kind) ?? new Map<string, readonly Declaration[]>();
      const others = known.get(id)?.filter((one) => one.treeId !== treeId) ?? [];
      this.#kinds.set(kind, known.set(id, [declaration, ...others]));
    }
  }
}

/** Looks references up in the read models, one statement for each kind that is asked for. */
export async function findKnown(db: Db, references: readonly Reference[]): Promise<readonly Declaration[]> {
  const found: (readonly Declaration[])[] = [];
  for (const kind of new Set(references.map((reference) => reference.kind))) {
    const ids = new Set(references.filter((reference) => reference.kind === kind).map(({ id }) => id));
    found.push(await readDeclarations(db, kind, [...ids]));
  }
  return found.flat();
}
