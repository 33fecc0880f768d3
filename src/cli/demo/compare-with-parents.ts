/**
 * A revision by its parts: the actions of both parents, how many first ones they share, and the place of the last bad one
 * that is kept.
 */
export interface RevisionParts {
  readonly bad: readonly string[];
  readonly good: readonly string[];
  readonly branch: number;
  readonly transition: number;
  readonly reflection: string;
}

const WIDTH = 34; // of a column: three fit in a terminal of 110

/**
 * Writes a revision between its parents, a line for each action and each action of it next to the one that it was taken from: the
 * bad prefix, the reflection, the good suffix. `·` marks what is context only, `✓` what a trainer learns from.
 */
export function compareWithParents({ bad, good, branch, transition, reflection }: RevisionParts): readonly string[] {
  const kept = bad.slice(0, transition + 1).map((action, i) => row(action, '·', action, i < branch ? good[i] : undefined));
  const [first = '', ...rest] = wrap(`“${reflection}”`);
  const said = [row('', '✓', first, ''), ...rest.map((line) => row('', ' ', line, ''))];
  const left = bad.slice(transition + 1);
  const taken = good.slice(branch).map((action, i) => row(left[i], '✓', action, action));
  const beyond = left.slice(good.length - branch).map((action) => row(action, ' ', '', ''));
  const header = [
    row('bad trajectory', ' ', 'revision', 'good trajectory'),
    row('─'.repeat(WIDTH), ' ', '─'.repeat(WIDTH), '─'.repeat(WIDTH)),
  ];
  return [...header, ...kept, ...said, ...taken, ...beyond];
}

function row(bad: string | undefined, mark: string, revision: string, good: string | undefined): string {
  return `${cell(bad)}  ${mark} ${cell(revision)}  ${cell(good)}`.trimEnd();
}

function cell(text = ''): string {
  return (text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text).padEnd(WIDTH);
}

function wrap(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
