import { createRequire } from 'node:module';

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer');

// What a file of its kind takes about, ms, where it has not run here before.
const GUESSES = [
  [/\.(e2e|torch)\.test\.ts$/, 20_000],
  [/\.int\.test\.ts$/, 5_000],
];

/** Begins with the files that take longest: a long one that begins last leaves the other workers idle. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const known = await super.sort(tests);
    const duration = (test) => test.duration ?? GUESSES.find(([kind]) => kind.test(test.path))?.[1] ?? 300;
    return [...known].sort((one, other) => duration(other) - duration(one));
  }
}
