import { describe, expect, test } from '@jest/globals';
import { findWideComments, findWords } from './find-words.ts';

const found = (path: string, text: string) => findWords(path, text).map(({ line, found: word }) => `${line} ${word}`);

describe('the words of a file', () => {
  test('a listed word is found in camel case, snake case, kebab case and capitals, each at its line', () => {
    const text = 'const toldTree = 1;\nconst tree_told = 2;\nimport x from "./told-tree.ts";\nconst TOLD_LIMIT = 3;\nToldTree;\n';
    expect(found('src/a.ts', text)).toEqual(['1 told', '2 told', '3 told', '4 TOLD', '5 Told']);
  });

  test('a listed word inside a longer one is not found', () => {
    expect(found('src/a.ts', 'const indoor = totold + satellite; // history')).toEqual([]);
  });

  test('a listed word in the name of a file is found at line 0', () => {
    expect(found('src/told-tree.ts', '')).toEqual(['0 told']);
  });

  test('a word of prose is found in comments and texts, never in code', () => {
    const text = "// it stands\nconst stands = 'it gives x';\n/* a\n * stands */ gives(`shall`);\n";
    expect(found('src/a.ts', text)).toEqual(['1 stands', '2 gives', '4 stands', '4 shall']);
  });

  test('a phrase is found where a comment breaks its line, too', () => {
    expect(found('src/a.ts', '/**\n * Ends the batch in\n * hand.\n */')).toEqual(['2 in hand']);
  });

  test('the first word of a comment is found where a docstring begins on its second line', () => {
    expect(found('src/a.ts', '/** Give the tree. */\n/**\n * Says whether.\n * Give.\n */\n// Whoever says it.')).toEqual([
      '1 Give',
      '2 Says',
    ]);
  });

  test('comments of SQL, Python and GraphQL are searched, and all of a page', () => {
    expect(found('a.sql', '-- it stands\nselect stands from x;')).toEqual(['1 stands']);
    expect(found('a.py', 'stands = 1  # it stands\n"""Gives it."""')).toEqual(['1 stands', '2 Gives']);
    expect(found('a.graphql', '"What stands."\ntype A { gives: Int }')).toEqual(['1 stands']);
    expect(found('a.md', 'It stands.')).toEqual(['1 stands']);
  });

  test('a name that is allowed is not found, and hides no other word of its line', () => {
    expect(found('src/a.ts', "sql`from lease_desk` // told by 'lease-desk'")).toEqual(['1 told']);
  });

  test('a replacement is named with each word', () => {
    expect(findWords('src/a.ts', '// anew')).toEqual([{ line: 1, found: 'anew', write: 'again' }]);
  });
});

describe('the width of comments', () => {
  const wide = 'x'.repeat(128);

  test('a comment of 131 columns is found, one of 130 is not', () => {
    expect(findWideComments('src/a.ts', `// ${wide}\n// ${wide.slice(1)}`)).toEqual([1]);
    expect(findWideComments('a.sql', `-- ${wide}`)).toEqual([1]);
    expect(findWideComments('a.py', `  # ${wide}`)).toEqual([1]);
    expect(findWideComments('src/a.ts', `/**\n * ${wide}\n */`)).toEqual([2]);
  });

  test('code and pages may be wider', () => {
    expect(findWideComments('src/a.ts', `const a = '${wide}';`)).toEqual([]);
    expect(findWideComments('a.md', wide.repeat(2))).toEqual([]);
  });
});
