import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GuideFolder } from './guide-folder.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const COPIED = [
  'bin',
  'python',
  'src',
  'graphql',
  'studio',
  'workers',
  'infra',
  'migrations',
  'docs',
  'package.json',
  'tsconfig.json',
];

/** A copy of this repository that guides may change: what is installed is shared, what is compiled is not. */
export class WorkCopy extends GuideFolder {
  static async make(): Promise<WorkCopy> {
    const folder = await mkdtemp(join(tmpdir(), 'espalier-guides-'));
    const wanted = (source: string) => !source.endsWith('.test.ts'); // they would be checked for types once more
    for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true, filter: wanted });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return new WorkCopy(folder, { PATH: process.env.PATH, HOME: process.env.HOME });
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}
