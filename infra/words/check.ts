import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findWideComments, findWords } from './find-words.ts';
import { SKIPPED } from './words.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SEARCHED = /\.(ts|mjs|js|py|md|sql|graphql|ya?ml|sh|json|toml)$|Dockerfile/;

/**
 * `npm run check:words`: names the words of the list in every file that git knows, and comments wider than 130 columns; exits 1
 * when there is one. Arguments name files and folders to search instead.
 */
const named = process.argv.slice(2);
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...named], {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 1 << 26,
})
  .split('\n')
  .filter((path) => SEARCHED.test(path) && !SKIPPED.some((skipped) => skipped.path.test(path)) && existsSync(`${ROOT}${path}`));
const lines = files.flatMap((path) => {
  const text = readFileSync(`${ROOT}${path}`, 'utf8');
  return [
    ...findWords(path, text).map(({ line, found, write }) => `${path}:${line}: "${found}"; write: ${write}`),
    ...findWideComments(path, text).map((line) => `${path}:${line}: a comment wider than 130 columns; wrap it`),
  ];
});
for (const line of lines) process.stderr.write(`${line}\n`);
if (lines.length > 0) {
  process.stderr.write(`${lines.length} places; the list is infra/words/words.ts\n`);
  process.exitCode = 1;
}
