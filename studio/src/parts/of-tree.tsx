import { createContext, useContext } from 'react';

const Tree = createContext<string | undefined>(undefined);

/** Says of which tree the steps, rollouts and revisions below are: each id is one of its tree. */
export const OfTree = Tree.Provider;

/** The tree of what is shown; undefined where only the id is known. */
export function useTree(): string | undefined {
  return useContext(Tree);
}
