/** What a guide asks its reader to do, in order. */
export type GuideStep =
  | { readonly kind: 'create'; readonly path: string; readonly text: string }
  | { readonly kind: 'edit'; readonly path: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: 'run'; readonly command: string; readonly output: string }
  | { readonly kind: 'python'; readonly text: string };

/** A place of a file as it was and as it becomes. */
export interface Hunk {
  readonly before: string;
  readonly after: string;
}

const FENCE = /^```(\w+)(?: (.*))?\n([\s\S]*?)^```$/gm;
const NOT_RUN = /^# not run by a test: (.*)\n/;
const ANYTHING = '…';

/**
 * Reads the blocks of a guide: `file=PATH` is a new file, a `diff` changes one, `console run` holds commands with what they
 * print, `sh run` a script, `python run` a program. A block of another kind is for the eye.
 */
export function readGuide(markdown: string): readonly GuideStep[] {
  return [...markdown.matchAll(FENCE)].flatMap(([, language = '', info = '', text = '']): readonly GuideStep[] => {
    const path = /^file=(\S+)$/.exec(info)?.[1];
    if (path !== undefined) return [{ kind: 'create', path, text }];
    if (language === 'diff') return [readDiff(text)];
    if (info !== 'run') return [];
    if (language === 'console') return readConsole(text);
    return language === 'python' ? [{ kind: 'python', text }] : [{ kind: 'run', command: text.trimEnd(), output: ANYTHING }];
  });
}

/** A block of a page that no test runs, with the reason that its first line gives. */
export interface BlockNotRun {
  readonly line: string;
  readonly reason: string;
}

/** Returns the blocks that say of themselves that no test runs them, each with its first line after that. */
export function blocksNotRun(markdown: string): readonly BlockNotRun[] {
  return [...markdown.matchAll(FENCE)].flatMap(([, , , text = '']) => {
    const reason = NOT_RUN.exec(text)?.[1];
    return reason === undefined ? [] : [{ reason, line: text.replace(NOT_RUN, '').split('\n', 1)[0] ?? '' }];
  });
}

function readDiff(text: string): GuideStep {
  const [header = '', ...lines] = text.trimEnd().split('\n');
  const path = /^\+\+\+ (\S+)$/.exec(header)?.[1];
  if (path === undefined) throw new Error(`a diff of a guide begins with "+++ PATH", not with ${JSON.stringify(header)}`);
  const hunks = lines
    .join('\n')
    .split(/^@@\n/m)
    .filter((hunk) => hunk.trim() !== '')
    .map((hunk) => hunk.replace(/\n$/, '').split('\n'));
  const keep = (hunk: readonly string[], sign: string) =>
    hunk.filter((line) => line === '' || line[0] === ' ' || line[0] === sign).map((line) => line.slice(1));
  return {
    kind: 'edit',
    path,
    hunks: hunks.map((hunk) => ({ before: keep(hunk, '-').join('\n'), after: keep(hunk, '+').join('\n') })),
  };
}

function readConsole(text: string): readonly GuideStep[] {
  return text
    .split(/^\$ /m)
    .filter((part) => part !== '')
    .map((part) => {
      const lines = part.trimEnd().split('\n');
      // A command goes on to the next line where a quotation is open.
      const end =
        1 +
        lines.findIndex(
          (_, i) =>
            lines
              .slice(0, i + 1)
              .join('')
              .split("'").length %
              2 ===
            1,
        );
      return { kind: 'run', command: lines.slice(0, end).join('\n'), output: lines.slice(end).join('\n') };
    });
}

/** Changes a text by a hunk. @throws when the place is not there, or not there once. */
export function changed(text: string, { before, after }: Hunk): string {
  const found = `\n${text}`.split(`\n${before}\n`).length - 1;
  if (found !== 1) throw new Error(`the place to change is there ${found} times:\n${before}`);
  return `\n${text}`.replace(`\n${before}\n`, () => `\n${after}\n`).slice(1);
}

/** Makes the pattern of an output: `…` stands for anything, on one line or as a line of its own for several. */
export function patternOf(output: string): RegExp {
  const escaped = output.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const lines = escaped.split('\n').map((line) => (line === '…' ? '[\\s\\S]*' : line.replaceAll('…', '.*')));
  return new RegExp(`^${lines.join('\n')}\n?$`);
}
