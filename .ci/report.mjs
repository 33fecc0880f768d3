// Reads jest's reports: `report.mjs failing FIRST…` lists the files to try again, `report.mjs count SECOND FIRST…` prints the
// last line of a run. SECOND is of the files that were tried again; it is missing where none failed.
import { existsSync, readFileSync } from 'node:fs';

const [what, ...reports] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const failing = (report) => report.testResults.filter((file) => file.status === 'failed');

if (what === 'failing') {
  for (const report of reports) for (const file of failing(read(report))) console.log(file.name);
} else {
  const [second, ...firsts] = reports;
  const again = existsSync(second) ? read(second) : null;
  const retried = new Map(again?.testResults.map((file) => [file.name, file]) ?? []);
  let [passed, failed, skipped] = [0, 0, 0];
  for (const original of firsts.flatMap((first) => read(first).testResults)) {
    const file = retried.get(original.name) ?? original;
    const name = original.name.split('/').slice(-3).join('/');
    const tests = file.assertionResults;
    passed += tests.filter((test) => test.status === 'passed').length;
    skipped += tests.filter((test) => test.status === 'pending' || test.status === 'todo').length;
    const red = tests.filter((test) => test.status === 'failed');
    for (const test of red) console.log(`failed: ${name} › ${test.fullName}`);
    failed += red.length;
    if (file.status === 'failed' && red.length === 0) {
      console.log(`failed: ${name} did not run to its end`);
      failed += 1;
    }
    if (file !== original && file.status !== 'failed')
      console.log(`unsteady: ${name} failed at first and passed when tried again alone`);
  }
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
