import { createRequire } from 'node:module';

const { default: TestRunner } = createRequire(import.meta.url)('jest-runner');

/** Jest's own runner, always with worker processes: a process keeps the modules that it loaded, and a watch lives on. */
export default class WorkerRunner extends TestRunner {
  runTests(tests, watcher) {
    return super.runTests(tests, watcher, { serial: false });
  }
}
