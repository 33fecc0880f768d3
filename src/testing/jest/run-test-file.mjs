import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { jest, useGlobals } from './globals.ts';
import { watchStatements, writeStatements } from './statements.mjs';

const require = createRequire(import.meta.url);
const { default: runWithCircus } = require('jest-circus/runner');
// Not in the environment of the worker from its start: the cache of translated sources outlives a run.
const folder = process.env.ESPALIER_TEST_FOLDER;
if (folder) {
  process.env.TMPDIR = folder;
  watchStatements();
}

/**
 * Runs a test file in the worker itself and not in a sandbox with modules of its own: what the product and its libraries load is
 * loaded once by a worker and not once by every file, which took most of a short file's time.
 */
export default async function runTestFile(globalConfig, config, environment, runtime, path, sendMessageToJest) {
  const { env, exitCode } = process;
  const before = { ...env };
  try {
    return await runWithCircus(globalConfig, config, environment, natively(runtime), path, sendMessageToJest);
  } finally {
    if (folder) writeStatements(folder);
    jest.restoreAllMocks();
    process.exitCode = exitCode; // commands set it
    for (const name of Object.keys(env)) if (!(name in before)) delete env[name];
    Object.assign(env, before);
  }
}

/** Replaces what loads modules. */
function natively(runtime) {
  const replaced = {
    requireInternalModule(path) {
      // The state of a run: a file begins with none.
      delete require.cache[path];
      delete globalThis[Symbol.for('EVENT_HANDLERS')];
      return require(path);
    },
    setGlobalsForRuntime: useGlobals,
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule(path) {
      Error.prepareStackTrace = undefined; // jest's own knows no source maps of modules that it did not load
      return import(pathToFileURL(path).href);
    },
  };
  return new Proxy(runtime, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name];
      const value = target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
