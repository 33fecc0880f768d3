import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { changed, type GuideStep } from './read-guide.ts';

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

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A copy of this repository that guides may change: what is installed is shared, what is compiled is not. */
export class WorkCopy {
  readonly folder: string;
  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<WorkCopy> {
    const folder = await mkdtemp(join(tmpdir(), 'espalier-guides-'));
    const wanted = (source: string) => !source.endsWith('.test.ts'); // they would be checked for types once more
    for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true, filter: wanted });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return new WorkCopy(folder);
  }

  /** Does what a step asks for to the files. */
  async apply(step: GuideStep): Promise<void> {
    if (step.kind === 'run') return;
    const file = join(this.folder, step.path);
    if (step.kind === 'create') {
      await mkdir(dirname(file), { recursive: true });
      return writeFile(file, step.text, { flag: 'wx' });
    }
    const text = await readFile(file, 'utf8');
    await writeFile(
      file,
      step.hunks.reduce((now, hunk) => changed(now, hunk), text),
    );
  }

  /** Starts a command as a shell does, in the copy. */
  start(command: string, env: Readonly<Record<string, string>>) {
    const environment = { PATH: process.env.PATH, HOME: process.env.HOME, ...env };
    return spawn('sh', ['-c', command], { cwd: this.folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Runs a command to its end. */
  async run(command: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const child = this.start(command, env);
    const [stdout, stderr] = [[] as string[], [] as string[]];
    child.stdout.setEncoding('utf8').on('data', (text: string) => stdout.push(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, stdout: stdout.join(''), stderr: stderr.join('') };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}
