/** Names in TypeScript → names in Postgres: `treeId` → `tree_id`. */
export const snakeCase = remembering((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/** Names in Postgres → names in TypeScript: `tree_id` → `treeId`. */
export const camelCase = remembering((name) =>
  name.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
);

/** Remembers what becomes of each name: the code has some hundred. */
function remembering(of: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const made = of(name);
    if (known.size < NAMES) known.set(name, made);
    return made;
  };
}
const NAMES = 2_000; // some columns are named by data (a schema of a snapshot), which never come back
