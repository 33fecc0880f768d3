import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installFor, ROOT } from './pack-npm.ts';

const run = promisify(execFile);

/** What a server's wheel is built for: as npm names it, and the tag by which pip chooses it. */
export const PLATFORMS: Readonly<Record<string, { readonly os: string; readonly cpu: string; readonly tag: string }>> = {
  'linux-x64': { os: 'linux', cpu: 'x64', tag: 'manylinux_2_28_x86_64' },
  'linux-arm64': { os: 'linux', cpu: 'arm64', tag: 'manylinux_2_28_aarch64' },
  'darwin-arm64': { os: 'darwin', cpu: 'arm64', tag: 'macosx_14_0_arm64' },
};

export function thisPlatform(): string {
  return `${process.platform}-${process.arch}`;
}

/**
 * Builds the wheel of the client, and per platform the wheel of the server: the npm package installed for that platform, without
 * Postgres and Node, which packages of PyPI bring.
 */
export async function packWheels(of: {
  readonly tarball: string;
  readonly work: string;
  readonly out: string;
  readonly platforms: readonly string[];
}): Promise<void> {
  const source = join(of.work, 'client'); // setuptools writes next to what it builds
  const own = (path: string) => !/__pycache__|\.egg-info|\/build$/.test(path);
  await cp(join(ROOT, 'python'), source, { recursive: true, filter: (path) => own(path) && !/\/tests\w*$/.test(path) });
  const venv = join(of.work, 'venv'); // a Python of the system may be without pip
  await run('python3', ['-m', 'venv', venv]);
  await run(join(venv, 'bin/pip'), ['wheel', '--quiet', '--no-deps', '--wheel-dir', of.out, source]);
  for (const name of of.platforms) {
    const platform = PLATFORMS[name];
    if (platform === undefined) throw new Error(`no platform ${name}`);
    const tree = join(of.work, name);
    const modules = await installFor(of.tarball, join(tree, 'installed'), platform);
    const contents = join(tree, 'wheel');
    await mkdir(join(contents, 'espalier_rl_server'), { recursive: true });
    await rm(join(modules, '@embedded-postgres'), { recursive: true, force: true });
    await rm(join(modules, '.bin'), { recursive: true, force: true }); // links, which a wheel cannot hold
    await cp(modules, join(contents, 'espalier_rl_server/node_modules'), { recursive: true });
    await cp(fileURLToPath(new URL('espalier_rl_server.py', import.meta.url)), join(contents, 'espalier_rl_server/__init__.py'));
    const version = /^espalier-(.*)\.tgz$/.exec(basename(of.tarball))?.[1] ?? '';
    const metadata = (await readFile(new URL('METADATA', import.meta.url), 'utf8')).replace('VERSION', version);
    await writeFile(join(contents, 'METADATA'), metadata);
    await run('python3', [
      fileURLToPath(new URL('write_wheel.py', import.meta.url)),
      contents,
      join(of.out, `espalier_rl_server-${version}-py3-none-${platform.tag}.whl`),
    ]);
  }
}
