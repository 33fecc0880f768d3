#!/usr/bin/env node
// Runs a program of this repository: `node bin/run.js workers/project.ts [ARG …]`. Its compiled form where there is one, else its
// source by tsx.
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundleFolder } from './bundle.js';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Loads a program and runs it in this process. @param {string} script its source, relative to the repository. */
export async function run(script) {
  // graphql checks every value twice in development: a tree of 1,000 steps takes half as long again.
  process.env.NODE_ENV ??= 'production';
  const folder = await bundleFolder();
  const compiled = folder === null ? null : join(folder, script.replace(/\.ts$/, '.mjs'));
  if (compiled !== null && existsSync(compiled)) {
    process.setSourceMapsEnabled(true);
    await import(pathToFileURL(compiled).href);
    return;
  }
  const { register } = await import('tsx/esm/api');
  register();
  await import(pathToFileURL(join(ROOT, script)).href);
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [script] = process.argv.splice(2, 1);
  const known = script === undefined ? undefined : relative(ROOT, resolve(ROOT, script));
  if (known === undefined || !existsSync(join(ROOT, known))) {
    process.stderr.write(`run: no program ${script ?? ''}; name one, for example workers/project.ts or src/cli/main.ts\n`);
    process.exit(2);
  }
  process.argv[1] = join(ROOT, known);
  await run(known);
}
