#!/usr/bin/env node
// Runs a program of this package: `node bin/run.js src/cli/main.ts [ARG …]`. Its compiled form where there is one, else its
// source by tsx.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** A package has compiled programs and no sources. */
const HAS_SOURCES = existsSync(join(ROOT, 'src/cli/main.ts'));

/** Loads a program and runs it in this process. @param {string} script its source, relative to the repository. */
export async function run(script) {
  // graphql checks every value twice in development: a tree of 1,000 steps takes half as long again.
  process.env.NODE_ENV ??= 'production';
  const compiled = compiledIn(HAS_SOURCES ? await (await import('./bundle.js')).bundleFolder() : packedFolder(), script);
  if (compiled !== null) {
    process.setSourceMapsEnabled(true);
    await import(pathToFileURL(compiled).href);
    return;
  }
  const { register } = await import('tsx/esm/api');
  register();
  await import(pathToFileURL(join(ROOT, script)).href);
}

function packedFolder() {
  return join(ROOT, 'dist', JSON.parse(readFileSync(join(ROOT, 'dist/current.json'), 'utf8')).folder);
}

function compiledIn(folder, script) {
  // src/cli/main.ts is src.cli.main.mjs: see bundle.js
  const file = folder === null ? '' : join(folder, script.replaceAll('/', '.').replace(/\.ts$/, '.mjs'));
  return existsSync(file) ? file : null;
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [script] = process.argv.splice(2, 1);
  const known = script === undefined ? undefined : relative(ROOT, resolve(ROOT, script));
  if (known === undefined || !(HAS_SOURCES ? existsSync(join(ROOT, known)) : compiledIn(packedFolder(), known))) {
    process.stderr.write(`run: no program ${script ?? ''}; name one, for example src/cli/main.ts\n`);
    process.exit(2);
  }
  process.argv[1] = join(ROOT, known);
  await run(known);
}
