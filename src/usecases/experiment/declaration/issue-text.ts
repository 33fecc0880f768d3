import type { z } from 'zod';

/** What is expected and was found, in the words of who writes a file. */
const WORDS: Readonly<Record<string, string>> = {
  record: 'options by their names',
  object: 'options by their names',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  null: 'nothing',
  NaN: 'no number',
};

/** Describes what is wrong with a value, where the schema names types of its own. */
export function issueText(issue: z.core.$ZodIssue | undefined): string {
  const [, expected = '', received = ''] = /^Invalid input: expected (\w+), received (\w+)$/.exec(issue?.message ?? '') ?? [];
  if (expected === '') return issue?.message ?? 'is not valid';
  if (received === 'undefined') return 'is missing';
  return `must be ${WORDS[expected] ?? expected}, not ${WORDS[received] ?? received}`;
}
