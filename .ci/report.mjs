// Reads jest's reports: `report.mjs failing REPORT` lists the files to try again, `report.mjs count REPORT…` prints the last line
// of a run. The report of the files that were tried again is REPORT.again.
import { existsSync, readFileSync } from 'node:fs';

const [what, ...reports] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

if (what === 'failing') {
  for (const { name, status } of reports.flatMap((report) => read(report).testResults))
    if (status === 'failed') console.log(name);
} else {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const report of reports) count(report, counts);
  const { passed, failed, skipped } = counts;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}

function count(report, counts) {
  const again = existsSync(`${report}.again`) ? read(`${report}.again`) : null;
  const retried = new Map(again?.testResults.map((file) => [file.name, file]) ?? []);
  for (const original of read(report).testResults) {
    const file = retried.get(original.name) ?? original;
    const name = original.name.split('/').slice(-3).join('/');
    const tests = file.assertionResults;
    counts.passed += tests.filter((test) => test.status === 'passed').length;
    counts.skipped += tests.filter((test) => test.status === 'pending' || test.status === 'todo').length;
    const red = tests.filter((test) => test.status === 'failed');
    for (const test of red) console.log(`failed: ${name} › ${test.fullName}`);
    counts.failed += red.length;
    if (file.status === 'failed' && red.length === 0) {
      console.log(`failed: ${name} did not run to its end`);
      counts.failed += 1;
    }
    if (file !== original && file.status !== 'failed')
      console.log(`unsteady: ${name} failed at first and passed when tried again alone`);
  }
}
