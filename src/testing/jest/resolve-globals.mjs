const GLOBALS = new URL('./globals.ts', import.meta.url).href;

/** `@jest/globals` throws outside of jest's sandbox, where tests of this repository run. */
export function resolve(specifier, context, next) {
  return specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context);
}
