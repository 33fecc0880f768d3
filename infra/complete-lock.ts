import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Adds to npm-shrinkwrap.json the optional packages of other platforms that npm left out, which it does when its registry does not
 * offer them: `npm ci` refuses such a lock even where they would never be installed. Run after every `npm install`: `npx tsx
 * infra/complete-lock.ts`.
 */
const FILE = fileURLToPath(new URL('../npm-shrinkwrap.json', import.meta.url));

interface Entry {
  readonly version?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const SYSTEMS: Readonly<Record<string, string>> = {
  android: 'android',
  darwin: 'darwin',
  linux: 'linux',
  linuxmusl: 'linux',
  win32: 'win32',
  windows: 'win32',
  freebsd: 'freebsd',
  openbsd: 'openbsd',
  netbsd: 'netbsd',
  sunos: 'sunos',
  aix: 'aix',
  openharmony: 'openharmony',
};
const PROCESSORS = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 's390x', 'riscv64', 'loong64', 'mips64el', 'wasm32'];

const lock = JSON.parse(readFileSync(FILE, 'utf8')) as { packages: Record<string, Entry> }; // npm's own format
const missing = Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {}, dev = false }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !isLocked(path, name))
    .map(([name, range]) => [`node_modules/${name}`, entryOf(name, range, dev)] as const),
);
lock.packages = Object.fromEntries([...Object.entries(lock.packages), ...missing].sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${missing.length} packages of other platforms added\n`);

/** Looks where node would: next to the package, then in every folder above. */
function isLocked(path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    if (lock.packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]) return true;
    if (folder === '') return false;
  }
}

function entryOf(name: string, range: string, dev: boolean): Entry {
  const parts = name.split(/[/-]/);
  const os = parts.map((part) => SYSTEMS[part]).find((system) => system !== undefined);
  const cpu = parts.find((part) => PROCESSORS.includes(part));
  const libc = /musl/.test(name) ? ['musl'] : os === 'linux' && /gnu/.test(name) ? ['glibc'] : undefined;
  return {
    version: range.replace(/^[\^~]/, ''),
    optional: true,
    ...(cpu ? { cpu: [cpu] } : {}),
    ...(dev ? { dev } : {}),
    ...(libc ? { libc } : {}),
    ...(os ? { os: [os] } : {}),
  };
}
