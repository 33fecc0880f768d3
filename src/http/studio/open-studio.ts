import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUILT = fileURLToPath(new URL('../../../dist/studio/', import.meta.url));

/** The studio as it was built: a page, and the files that it loads. */
export interface Studio {
  /** The page that every view begins with. */
  readonly page: string;
  /** The document of the frame in which renderers of environments show steps. */
  readonly frame: string;
  /** Returns a file of the page, compressed where the encoding says so; undefined for another name. */
  asset(name: string, encoding: Encoding): Promise<Uint8Array | undefined>;
}
/** How the bytes of a file are compressed; empty where they are not. */
export type Encoding = 'br' | 'gzip' | '';

const ENDINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz', '': '' };

/** Opens the studio that `bin/studio.js` built last; undefined where none is built. */
export function openStudio(built = BUILT): Studio | undefined {
  const note = join(built, 'current');
  if (!existsSync(note)) return undefined;
  const folder = join(built, readFileSync(note, 'utf8').trim());
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const names = new Set(readdirSync(join(folder, 'assets')));
  return {
    page: readFileSync(join(folder, 'index.html'), 'utf8'),
    frame: readFileSync(join(folder, 'frame.html'), 'utf8'),
    asset: async (name, encoding) =>
      names.has(name) && names.has(`${name}${ENDINGS[encoding]}`) && !/\.(br|gz)$/.test(name)
        ? await readFile(join(folder, 'assets', `${name}${ENDINGS[encoding]}`))
        : undefined,
  };
}
