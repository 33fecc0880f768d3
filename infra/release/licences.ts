import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './root.ts';

const LICENCE = /^(licen[cs]e|copying|notice)/i;

/** Returns the packages whose files were compiled in, and those of the studio with what they need, by their folders. */
export async function packagesOf(inputs: readonly string[]): Promise<readonly string[]> {
  const compiled = inputs.flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []);
  const studio = readdirSync(join(ROOT, 'studio'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .flatMap((name) => [...readFileSync(join(ROOT, 'studio', name), 'utf8').matchAll(/from '((?:@[^/']+\/)?[^./'][^/']*)/g)])
    .map(([, name = '']) => `node_modules/${name}`);
  const seen = new Set<string>();
  const queue = [...studio.filter((folder) => !folder.includes('node:'))];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    if (seen.has(folder)) continue;
    const manifest = await readFile(join(ROOT, folder, 'package.json'), 'utf8').catch(() => null);
    if (manifest === null) continue; // nested below another: its name is listed there too
    seen.add(folder);
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> };
    queue.push(...Object.keys(dependencies).map((name) => `node_modules/${name}`));
  }
  return [...new Set([...compiled, ...seen])].sort();
}

/** Returns the texts of the packages' licences, one behind the other. @throws Error for a package that names no licence. */
export async function licencesOf(folders: readonly string[]): Promise<string> {
  const texts = await Promise.all(
    folders.map(async (folder) => {
      const { name, version, license } = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8')) as Record<
        string,
        string
      >;
      if (name === undefined) return ''; // a folder of a package, with a manifest of its own for its module format
      if (license === undefined) throw new Error(`${name} names no licence`);
      const files = (await readdir(join(ROOT, folder))).filter((file) => LICENCE.test(file));
      const own = await Promise.all(files.map((file) => readFile(join(ROOT, folder, file), 'utf8')));
      return `${name} ${version}: ${license}\n\n${own.map((text) => text.trim()).join('\n\n')}\n`;
    }),
  );
  return texts.filter((text) => text !== '').join(`\n${'-'.repeat(80)}\n\n`);
}
