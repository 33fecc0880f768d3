/** A statement in the text of SQL whose row type nothing checks: `sql<Row>` with `select`, `insert` and the like behind it. */
export interface RawStatement {
  readonly line: number;
  /** The parts of its text between what is put in. */
  readonly parts: readonly string[];
}

const TYPED = /\bsql<[^`]*?>`(?=\s*(?:select|with|insert|update|delete|fetch)\b)/gi;

/** Finds the raw statements of a source file. */
export function rawStatementsIn(source: string): readonly RawStatement[] {
  return [...source.matchAll(TYPED)].map((match) => ({
    line: source.slice(0, match.index).split('\n').length,
    parts: partsFrom(source, match.index + match[0].length),
  }));
}

/** The parts of the template that begins at a place; a part that holds templates itself is skipped. */
function partsFrom(source: string, start: number): readonly string[] {
  const parts: string[] = [];
  let from = start;
  for (let at = start; at < source.length; at++) {
    if (source[at] === '`') return [...parts, source.slice(from, at)];
    if (!source.startsWith('${', at)) continue;
    parts.push(source.slice(from, at));
    at = endOfExpression(source, at + 2);
    from = at + 1;
  }
  return parts;
}

function endOfExpression(source: string, start: number): number {
  for (let at = start, depth = 0; at < source.length; at++) {
    if (source[at] === '{') depth++;
    else if (source[at] === '}' && depth-- === 0) return at;
  }
  return source.length;
}

const NAMED = String.raw`"?\w+"?`;
const COMPARED = new RegExp(String.raw`^${NAMED}\s*(=\s*(any\()?\u0000(::\w+(\[\])?)?\)?|=\s*'[^']*'|is null)$`, 'i');
const PLAIN = new RegExp(
  String.raw`^select ${NAMED}(?:, ${NAMED}){0,7} from \w+ where (.+?)(?: order by ${NAMED}(?:, ${NAMED})*)?$`,
  'i',
);

/** Whether a raw statement reads named columns of one table by their values, as `rowsWhere` does with checked types. */
export function isPlain({ parts }: RawStatement): boolean {
  const [, where] = PLAIN.exec(parts.join('\u0000').replace(/\s+/g, ' ').trim()) ?? [];
  return where?.split(/ and /i).every((condition) => COMPARED.test(condition.trim())) ?? false;
}

/** Whether one of the statements that were sent can be a raw one: its longest part is in it, whatever the case of names. */
export function isAmong({ parts }: RawStatement, sent: string): boolean {
  const longest = [...parts].sort((one, other) => other.length - one.length)[0] ?? '';
  return sent.includes(normalised(longest.replaceAll('\\\\', '\\'))); // as the template evaluates
}

/** Leaves out what the query builder or the formatter may change: blanks, quotes and the case of letters. */
export function normalised(text: string): string {
  return text.replace(/[\s"]+/g, '').toLowerCase();
}
