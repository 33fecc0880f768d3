import type * as Jest from '@jest/globals';
import { ModuleMocker } from 'jest-mock';

// Bindings of a module are live: a test file that is evaluated after `useGlobals` imports the functions of its own run.
export let afterAll: typeof Jest.afterAll;
export let afterEach: typeof Jest.afterEach;
export let beforeAll: typeof Jest.beforeAll;
export let beforeEach: typeof Jest.beforeEach;
export let describe: typeof Jest.describe;
export let expect: typeof Jest.expect;
export let test: typeof Jest.test;

/** The part of `jest` that tests use. Modules are shared by the files of a worker: none of them can be mocked. */
export const jest = new ModuleMocker(globalThis);

/** Makes the functions of a test file's run those that `@jest/globals` exports. */
export function useGlobals(globals: Omit<typeof Jest, 'jest'>): void {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } = globals);
}
