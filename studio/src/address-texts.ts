import type { SearchSchemaInput } from '@tanstack/react-router';

/** Reads parameters of an address as texts, the empty ones left out. */
export function texts<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown> & SearchSchemaInput): { readonly [Key in Name]?: string } => {
    const given = names.flatMap((name) => {
      const value = search[name];
      return value === undefined || value === null || value === '' ? [] : [[name, String(value)]];
    });
    return Object.fromEntries(given) as { readonly [Key in Name]?: string };
  };
}
