import { readFileSync } from 'node:fs';
import { productFiles } from '../product-files.ts';
import { isAmong, normalised, rawStatementsIn } from '../raw-statements.ts';
import { FOLDER } from './run-folder.ts';
import { readStatements } from './statements.mjs';

const WHOLE = 300; // files: fewer are a choice of them

/** Ends a whole run with the raw statements that none of its tests sent to Postgres: their row types are tried by nothing. */
export default class UnrunStatements {
  onRunComplete(_contexts, { testResults }) {
    const folder = process.env[FOLDER];
    if (testResults.length < WHOLE || folder === undefined) return;
    const sent = readStatements(folder).map(normalised).join('\n');
    const unrun = productFiles().flatMap((file) =>
      rawStatementsIn(readFileSync(file, 'utf8'))
        .filter((statement) => !isAmong(statement, sent))
        .map(({ line }) => `${file}:${line}`),
    );
    process.stderr.write(`\nRaw statements that no test sent (${unrun.length}):\n${unrun.join('\n')}\n`);
  }
}
