import { readdirSync } from 'node:fs';

/** Lists the sources of the product, by their paths from the root of the repository: no tests and nothing that they share. */
export function productFiles(): readonly string[] {
  return ['src', 'graphql', 'workers']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
    .filter((path) => /\.ts$/.test(path) && !/(test|contract|-testing)\.ts$|^src\/testing\//.test(path))
    .sort();
}
