import { describe, expect, test } from '@jest/globals';
import { statementFault } from './statement-fault.ts';

describe('statementFault', () => {
  test.each([
    'a reward revised twice keeps only the last value',
    'two members share the partitions',
    'sums of infinities and NaN equal those of plain addition',
    'the filter %s selects runs',
    'HTTP %i is classified as %s',
    '`self` names the model that acted',
    'the answer "is" may begin a quotation',
    'Python white space is stripped',
  ])('%j is accepted as a statement', (name) => {
    expect(statementFault(name)).toBeUndefined();
  });

  test.each([
    ['', 'it has fewer than three words'],
    ['is refused', 'it has fewer than three words'],
    ['is refused with the reason', 'it begins with "is", so that it lacks its subject'],
    ['that was rejected says why', 'it begins with "that", so that it lacks its subject'],
    ['Refuses a number below zero', 'it begins with "Refuses": begin in lower case'],
    ['a hostile document is refused before anything is read:', 'it ends with a punctuation mark'],
    ['a bomb of fragments', 'it has no finite verb'],
    ['fragments that spread themselves', 'it has no finite verb'],
    ['a text of 10 MB, which goes to the blob store', 'it has no finite verb'],
  ])('%j is refused: %s', (name, fault) => {
    expect(statementFault(name)).toBe(fault);
  });
});
