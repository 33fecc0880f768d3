import type { Db } from '../postgres/database.ts';
import { codeVersionOf, type Projection } from './projection.ts';

/** Reads which version of each projection is live: the one whose tables the views in `public` show. */
export async function readLiveVersions(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db.selectFrom('projections').select(['name', 'version']).execute();
  return new Map(rows.map(({ name, version }) => [name, version]));
}

/** What this process can do with the live version of a projection: fold it, or not, because other code made it. */
export type LiveStatus =
  | { readonly kind: 'folds'; readonly version: number }
  | { readonly kind: 'other-code'; readonly reason: string };

/** Returns whether the code of this process folds the version that is live. */
export function liveStatusOf({ name, version }: Projection, live: ReadonlyMap<string, number>): LiveStatus {
  const current = live.get(name) ?? version;
  if (codeVersionOf(current) === version) return { kind: 'folds', version: current };
  const reason = `version ${codeVersionOf(current)} of ${name} is live and this code folds version ${version}: \`espalier rebuild ${name}\` builds it next to the live one and swaps`;
  return { kind: 'other-code', reason };
}
