import { execFile } from 'node:child_process';
import { chmod, chown, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../src/runtime/free-port.ts';
import { GuideFolder } from '../../src/testing/guides/guide-folder.ts';
import { ROOT } from './pack-npm.ts';

const NOBODY = 65_534; // Postgres needs an account with a name
const INSTALLED_MS = 900_000;
const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;

/** Builds what is published into a folder. @returns the folder, or that of ESPALIER_RELEASE, which was built before. */
export async function buildRelease(folder: string): Promise<string> {
  const built = process.env.ESPALIER_RELEASE;
  if (built !== undefined) return built;
  await run('npm', ['run', '-s', 'release', '--', '--out', folder], { cwd: ROOT, maxBuffer: 1 << 26 });
  return folder;
}

export interface InstallOptions {
  /** The folder of what is published. */
  readonly release: string;
  /** What pip installs besides the client and its server. */
  readonly packages?: readonly string[];
  /** The account: that of the tests, or where this is root one that owns nothing else. */
  readonly account: 'own' | 'unprivileged';
  /** An interpreter whose packages the environment sees, so that pip does not download them again. */
  readonly sees?: string;
}

/**
 * What a new user has: an empty folder with the published files and the examples, an environment into which pip installed
 * them, a home of its own, and neither Node nor, where the tests may hide it, the checkout.
 */
export class InstalledWheel {
  readonly #folder: string;
  readonly #owner: number | null;
  readonly #pages: GuideFolder[] = [];

  private constructor(folder: string, owner: number | null) {
    this.#folder = folder;
    this.#owner = owner;
  }

  static async make(options: InstallOptions): Promise<InstalledWheel> {
    const folder = await mkdtemp('/tmp/espalier-installed-'); // that of a test run is its owner's alone
    const owner = isRoot && options.account === 'unprivileged' ? NOBODY : null;
    const installed = new InstalledWheel(folder, owner);
    await cp(options.release, join(folder, 'release'), { recursive: true });
    await cp(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
    for (const name of ['home', 'decoys']) await mkdir(join(folder, name));
    for (const name of ['node', 'npm', 'npx']) {
      await writeFile(join(folder, 'decoys', name), '#!/bin/sh\necho "there is no Node here" >&2\nexit 97\n');
      await chmod(join(folder, 'decoys', name), 0o755);
    }
    await chmod(folder, 0o755);
    if (owner !== null) await run('chown', ['-R', `${owner}:${owner}`, folder]);
    await installed.#install(options);
    return installed;
  }

  /**
   * Makes a folder in which a page is followed. @param of `served`, and `espalier up` runs in it, or `empty`.
   */
  async folderFor(page: string, of: 'served' | 'empty'): Promise<GuideFolder> {
    const folder = join(this.#folder, 'pages', page.replaceAll(/\W+/g, '-'));
    await mkdir(folder, { recursive: true });
    for (const name of ['examples', 'release', ...(of === 'served' ? ['.espalier'] : [])])
      await symlink(join(this.#folder, name), join(folder, name));
    if (this.#owner !== null) await chown(folder, this.#owner, this.#owner);
    const made = this.#guideFolder(folder);
    this.#pages.push(made);
    return made;
  }

  #guideFolder(folder: string): GuideFolder {
    const pip = Object.entries(process.env).filter(([name]) => name.startsWith('PIP_'));
    const path = [join(this.#folder, 'venv/bin'), join(this.#folder, 'decoys'), '/usr/local/bin', '/usr/bin', '/bin'];
    const own = { PATH: path.join(':'), HOME: join(this.#folder, 'home'), LANG: 'C.UTF-8', CHECKOUT: ROOT };
    return new GuideFolder(folder, { ...Object.fromEntries(pip), ...own }, enter(this.#owner));
  }

  async #install({ packages = [], sees }: InstallOptions): Promise<void> {
    const site = 'import site; print(site.getsitepackages()[0])';
    const seen = `echo "import site; site.addsitedir('$('${sees}' -c '${site}')')" > "$(venv/bin/python -c '${site}')/seen.pth"`;
    const wanted = ['espalier-rl[server]', ...packages].map((each) => `'${each}'`).join(' ');
    const pip = `timeout ${INSTALLED_MS / 1_000} pip install --quiet --find-links release ${wanted}`;
    const commands = [`'${sees ?? 'python3'}' -m venv venv`, ...(sees === undefined ? [] : [seen]), pip];
    const { code, stderr } = await this.#guideFolder(this.#folder).run(commands.join(' && '));
    if (code !== 0) throw new Error(`${pip}\nended with ${code}:\n${stderr}`);
  }

  /** Serves an installation in the folder as `espalier up` does. @returns its address. */
  async up(): Promise<{ readonly url: string; close(): Promise<void> }> {
    const server = this.#guideFolder(this.#folder).start('exec nice -n 10 espalier up', {
      ESPALIER_PORT: String(await freePort()),
    });
    const ended = new Promise<number | null>((resolve) => server.once('close', resolve));
    let printed = '';
    const url = await new Promise<string>((resolve, reject) => {
      for (const stream of [server.stdout, server.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          printed += text;
          const [, found] = /GraphQL +(http:\/\/127\.0\.0\.1:\d+)/.exec(printed) ?? [];
          if (found !== undefined) resolve(found);
        });
      void ended.then((code) => reject(new Error(`espalier up ended with ${code}:\n${printed}`)));
    });
    return {
      url,
      close: async () => {
        server.kill('SIGTERM');
        await ended;
      },
    };
  }

  async remove(): Promise<void> {
    for (const page of this.#pages) page.endBackground();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** What runs a command: of root a shell that does not see the checkout, by the account. */
function enter(owner: number | null): readonly string[] {
  if (!isRoot) return ['sh', '-c'];
  const account = owner === null ? '' : `setpriv --reuid=${owner} --regid=${owner} --clear-groups `;
  return ['unshare', '--mount', 'sh', '-c', `mount -t tmpfs none "$CHECKOUT" && exec ${account}sh -c "$1"`, 'sh'];
}
