export interface TestName {
  readonly name: string;
  readonly kind: 'group' | 'test';
}

const TEXT = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/.source;
/** `test('…', …)`, `longTest('…', …)`, or the last part of `test.each(…)('…', …)`; what follows the title is a function. */
const TITLE = new RegExp(
  String.raw`(?:(?<![\w.])((?:test|longTest|it|describe)(?:\.\w+)*)|[\])${'`'}])\(\s*(${TEXT}),\s*(?:async )?(?:\(|\w+ =>|function\b|\w+\);?$)`,
  'gm',
);
const ROW = new RegExp(String.raw`^( *)\[\s*(${TEXT})`, 'gm');

/**
 * Returns the names of the groups and tests of a file in the layout of our formatter, in which the first and the last line of a
 * table have one indent. A table whose title is `%s` alone is named by its labels, the first texts of its rows.
 */
export function testNamesIn(path: string, text: string): readonly TestName[] {
  if (path.endsWith('.py'))
    return [...text.matchAll(/^\s*def test_(\w+)/gm)].map(([, name = '']) => ({ name: name.replaceAll('_', ' '), kind: 'test' }));
  return [...text.matchAll(TITLE)].flatMap(({ 1: head, 2: title = '', index }) => {
    const table = head === undefined ? tableBefore(text, index) : undefined;
    const call = head ?? table;
    if (call === undefined) return [];
    const labels = table !== undefined && textOf(title) === '%s' ? labelsOf(table, text) : [];
    const kind = call.startsWith('describe') ? 'group' : 'test';
    return (labels.length > 0 ? labels : [textOf(title)]).map((name): TestName => ({ name, kind }));
  });
}

/** Returns `test.each(…` up to a place, or undefined when the line of that place closes something else. */
function tableBefore(text: string, at: number): string | undefined {
  const line = text.lastIndexOf('\n', at) + 1;
  const indent = /^ */.exec(text.slice(line))?.[0] ?? '';
  const heads = [...text.slice(0, at).matchAll(new RegExp(`^${indent}((?:test|it|describe)(?:\\.\\w+)*\\.each\\b)`, 'gm'))];
  const head = heads.at(-1);
  return head === undefined ? undefined : text.slice(head.index + indent.length, at);
}

/** Reads a table as it is written, or the constants that it names. */
function labelsOf(table: string, text: string): readonly string[] {
  const named = [...table.matchAll(/(?:\(|\.\.\.)(\w+)/g)].map(
    ([, name]) => new RegExp(`^const ${name}\\b[\\s\\S]*?^\\]`, 'm').exec(text)?.[0] ?? '',
  );
  return [table, ...named].flatMap((lines) => {
    const rows = [...lines.matchAll(ROW)];
    const indent = Math.min(...rows.map(({ 1: blanks = '' }) => blanks.length));
    return rows.filter(({ 1: blanks = '' }) => blanks.length === indent).map(({ 2: label = '' }) => textOf(label));
  });
}

function textOf(literal: string): string {
  return literal
    .slice(1, -1)
    .replace(/\$\{[^}]*\}/g, '…')
    .replace(/\\(.)/g, '$1');
}
