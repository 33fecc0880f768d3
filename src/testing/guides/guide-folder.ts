import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { changed, type GuideStep } from './read-guide.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A folder in which a reader does what guides ask for. */
export class GuideFolder {
  readonly folder: string;
  readonly #env: Environment;
  readonly #enter: readonly string[];
  readonly #groups = new Set<number>();

  /** @param enter what runs a command that is its last argument: a shell, or what enters another account first. */
  constructor(folder: string, env: Environment, enter: readonly string[] = ['sh', '-c']) {
    this.folder = folder;
    this.#env = env;
    this.#enter = enter;
  }

  /** Does what a step asks for to the files. */
  async apply(step: GuideStep): Promise<void> {
    if (step.kind !== 'create' && step.kind !== 'edit') return;
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

  /** Starts a command. */
  start(command: string, env: Environment = {}) {
    const [program = 'sh', ...args] = this.#enter;
    const options = { cwd: this.folder, env: { ...this.#env, ...env } };
    return spawn(program, [...args, command], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Runs a command to its end; what it leaves running in the background ends with `endBackground`. */
  async run(command: string, env: Environment = {}): Promise<Ended> {
    const printed = await mkdtemp(join(tmpdir(), 'espalier-printed-')); // a process in the background keeps a pipe open
    const files = ['stdout', 'stderr'].map((name) => join(printed, name));
    const [stdout = 0, stderr = 0] = files.map((file) => openSync(file, 'w'));
    const [program = 'sh', ...args] = this.#enter;
    const options = { cwd: this.folder, env: { ...this.#env, ...env }, detached: true };
    const child = spawn(program, [...args, command], { ...options, stdio: ['ignore', stdout, stderr] });
    if (child.pid !== undefined) this.#groups.add(child.pid);
    const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve));
    this.#dropEndedGroups();
    for (const descriptor of [stdout, stderr]) closeSync(descriptor);
    const [out = '', error = ''] = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    await rm(printed, { recursive: true });
    return { code, stdout: out, stderr: error };
  }

  /** Ends what commands left running in the background. */
  endBackground(): void {
    for (const group of this.#groups) signalGroup(group, 'SIGTERM');
    this.#groups.clear();
  }

  /** A group without members has an id that the system gives to another one. */
  #dropEndedGroups(): void {
    for (const group of this.#groups) if (!signalGroup(group, 0)) this.#groups.delete(group);
  }
}

/** Returns whether anything of a process group runs. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
