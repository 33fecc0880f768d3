import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { sha256Hex } from '../../digest/sha256.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import { ToolError } from './tool.ts';

/** Something that a module of the user's exports, still to be checked. */
export interface LoadedExport {
  readonly value: unknown;
  /** `./my-tool.ts#tool`, as it was named. */
  readonly place: string;
  /** SHA-256 of the module's file and of the files that it imports by relative paths, or of the package's files. */
  readonly sha256: string;
}

/**
 * What the files were when they were loaded: a process loads a module once, so a later hash would name a program that does not
 * run.
 */
const loaded = new Map<string, string>();

const PACKAGE = /^(?:npm:|(?=@[\w.-]+\/))(.+)$/;

/** Returns whether a name is that of a module: a path or a package (`npm:NAME`, `@SCOPE/NAME`), not a bare word. */
export function isModule(text: string): boolean {
  return PACKAGE.test(text) || /^(\.{0,2}\/|[A-Za-z]:[\\/])|\.[cm]?[jt]s(#|$)/.test(text);
}

/**
 * Loads what a module exports: `./my-tool.ts#name`, relative to the working folder, or `npm:my-tools#name`, a package that is
 * installed there. It is the user's own program and runs with all its rights. @throws ToolError that says what is missing and
 * what there is.
 */
export async function loadExport(text: string, what: string, usual: string): Promise<LoadedExport> {
  const [path = '', name = usual] = text.split('#');
  const bare = PACKAGE.exec(path)?.[1];
  const file = bare === undefined ? resolve(path) : packageFolder(bare);
  if (file === null)
    throw new ToolError(
      `${what} ${text}: no package ${bare} is installed in ${resolve('.')}; install it there: npm install ${bare}`,
    );
  let sha256: string;
  try {
    sha256 = await (bare === undefined ? hashModule(file) : hashPackage(file));
  } catch (cause) {
    throw new ToolError(`${what} ${text}: cannot read ${file} (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
  if ((loaded.get(file) ?? sha256) !== sha256)
    throw new ToolError(
      `${what} ${text}: ${file} was changed since this process loaded it; start again, so that the record names what runs`,
    );
  loaded.set(file, sha256);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await (bare === undefined ? importModule(pathToFileURL(file).href) : importPackage(bare));
  } catch (cause) {
    throw new ToolError(`${what} ${text}: the module cannot be loaded: ${messageOf(cause)}${remedyOf(path, cause)}`, { cause });
  }
  if (!Object.hasOwn(module, name)) {
    const others = Object.keys(module).filter((each) => each !== 'default');
    throw new ToolError(
      `${what} ${text}: the module has no export ${JSON.stringify(name)}; it exports ${others.join(', ') || 'nothing'}${others.length > 0 ? ` (write ${path}#${others[0]})` : ''}`,
    );
  }
  return { value: module[name], place: `${path}#${name}`, sha256 };
}

/** Imports a module, in TypeScript too where the process itself was started from bundled sources. */
async function importModule(url: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(url);
  } catch (error) {
    // what node throws, or the module itself
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    const { tsImport } = await import('tsx/esm/api');
    return await tsImport(url, import.meta.url);
  }
}

/** Imports a package as a program of the working folder does, in TypeScript too. */
async function importPackage(name: string): Promise<Readonly<Record<string, unknown>>> {
  const { tsImport } = await import('tsx/esm/api');
  return await tsImport(name, pathToFileURL(join(resolve('.'), 'program.mjs')).href);
}

/** A .ts file is a CommonJS module, which cannot load every ES module, where no package.json says otherwise. */
function remedyOf(path: string, cause: unknown): string {
  if (!/\.ts$/.test(path) || !/Cannot require\(\) ES Module|"cjs" output format/.test(messageOf(cause))) return '';
  return `; name the file ${path.replace(/\.ts$/, '.mts')}, or put a package.json with "type": "module" next to it`;
}

function messageOf(error: unknown): string {
  return cutText(String((error as { message?: unknown } | null)?.message ?? error), 1_000); // read by field: whatever was thrown
}

/**
 * Returns the SHA-256 of a module: of its file, or where it imports files of its own by relative paths, of all of them. Packages
 * that it imports are not part of it.
 */
async function hashModule(file: string): Promise<string> {
  const own = await readFile(file);
  const others = (await importedFiles(file)).filter((each) => each !== file);
  return others.length === 0 ? sha256Hex(own) : hashFiles(dirname(file), [file, ...others]);
}

/** Returns the SHA-256 of all files of an installed package; those of packages inside it are not part of it. */
async function hashPackage(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return hashFiles(
    folder,
    files.filter((file) => !relative(folder, file).split(sep).includes('node_modules')),
  );
}

/** Returns the folder where a package is installed for programs of the working folder, or null. */
function packageFolder(name: string): string | null {
  const [scope = '', rest] = name.split('/');
  const bare = scope.startsWith('@') ? `${scope}/${rest}` : scope;
  for (let folder = resolve('.'); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', bare);
    if (existsSync(join(found, 'package.json'))) return found;
    if (folder === dirname(folder)) return null;
  }
}

async function hashFiles(folder: string, files: readonly string[]): Promise<string> {
  const named = files.map((file) => ({ name: relative(folder, file).split(sep).join('/'), file }));
  named.sort((a, b) => (a.name < b.name ? -1 : 1));
  const hashes = await Promise.all(named.map(async ({ name, file }) => [name, sha256Hex(await readFile(file))]));
  return sha256Hex(JSON.stringify(hashes));
}

async function importedFiles(file: string): Promise<readonly string[]> {
  try {
    const { metafile } = await build({
      entryPoints: [file],
      absWorkingDir: dirname(file),
      bundle: true,
      write: false,
      metafile: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
    return Object.keys(metafile.inputs).map((input) => resolve(dirname(file), input));
  } catch {
    return []; // a module that esbuild cannot read is refused, with the reason, where it is imported
  }
}
