import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { buildSchema, type DocumentNode, Kind, parse, validate } from 'graphql';
import { readTypeDefs } from '../graphql/type-defs.ts';
import { cliReference, referencePages } from '../infra/docs/reference.ts';
import { readGuide } from './testing/guides/read-guide.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const PROGRAM = /^```python run\n([\s\S]*?)^```$/m;
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('.vitepress') && !/^reference\/(?!index\.md$)/.test(name))
    .map((name) => `docs/${name}`),
];

/** What users of Python read: all of its commands are run, or say why not. */
const OF_PYTHON = pages.filter((page) =>
  /^README|tutorials\/|guides\/(install|record-|autolog|capture|export|analyse-|what-happened|review|train-with-|forget|quarantine|keys-)/.test(
    page,
  ),
);

describe('the documentation', () => {
  test.each([
    ['examples/trainer.py', 'docs/tutorials/bring-your-own-trainer.md'],
    ['examples/train_in_15_lines.py', 'docs/tutorials/bring-your-own-trainer.md'],
    ['examples/train_with_verl.py', 'docs/guides/train-with-verl.md'],
    ['examples/train_with_trl.py', 'docs/guides/train-with-trl.md'],
    ['examples/capture_langgraph.py', 'docs/guides/autolog.md'],
    ['examples/count-letters.ts', 'docs/guides/tools-and-rewards.md'],
  ])('%s is quoted in %s as its test runs it', (example, page) => {
    expect(read(page)).toContain(read(example).trim());
  });

  test('every link between pages leads to a file that exists', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(resolve(ROOT, dirname(page), target)))
        .map((target) => `${page} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/evidence/promises.md'])(
    'every file and folder that %s names is there',
    (page) => {
      const rooms = ['src', 'graphql', 'workers', 'infra', 'docs', 'examples', 'python', 'migrations', 'studio'];
      const files = rooms.flatMap((room) =>
        readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' }).map((name) => `${room}/${name}`),
      );
      // `x/y` is a beginning: of a folder, of a file, or of several; in ARCHITECTURE.md those of src go without it
      const places = [...read(page).matchAll(/`((?:[a-z-]+\/)+[\w.*-]*)`/g)]
        .map(([, place = '']) => place.replace(/\*.*$/, ''))
        .filter(
          (place) =>
            existsSync(join(ROOT, place.split('/')[0] ?? '')) || existsSync(join(ROOT, 'src', place.split('/')[0] ?? '')),
        );
      expect(places.length).toBeGreaterThan(12);
      const isThere = (place: string) => files.some((file) => file.startsWith(place) || file.startsWith(`src/${place}`));
      expect(places.filter((place) => !isThere(place.replace(/\/$/, '')))).toEqual([]);
    },
  );

  test('every block of commands is run by a test, says why it is not, or is marked as an excerpt with its date', () => {
    const unmarked = pages.flatMap((page) =>
      [...read(page).matchAll(/^```(sh|console|python)\b ?(.*)\n([\s\S]*?)^```$/gm)]
        .filter(
          ([, language, info = '', text = '']) => !isCovered(page, info, language === 'console' && !/^\$ /m.test(text), text),
        )
        .map(([block]) => `${page}: ${block}`),
    );
    expect(unmarked).toEqual([]);
  });

  test('the tutorial of an own environment takes at most 15 lines of Python and five commands, from collecting to evaluating', () => {
    const steps = readGuide(read('docs/tutorials/your-own-environment.md'));
    const lines = steps.flatMap((step) =>
      step.kind === 'create' ? step.text.split('\n').filter((line) => line.trim() !== '') : [],
    );
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length).toBeLessThanOrEqual(15);
    expect(read('docs/tutorials/your-own-environment.md')).toContain(`It is ${lines.length} lines of Python`);
    const verbs = steps.flatMap((step) => (step.kind === 'run' ? [step.command.split(' ')[1]] : []));
    expect(verbs).toEqual(['collect', 'collect', 'revise', 'train', 'evaluate']);
    expect(steps.some((step) => step.kind === 'run' && step.command.includes('--search mcts'))).toBe(true);
  });

  test('the trainer of the tutorial takes at most 15 lines of Python', () => {
    const [, trainer = ''] = PROGRAM.exec(read('docs/tutorials/bring-your-own-trainer.md')) ?? [];
    const lines = trainer.split('\n').filter((line) => line.trim() !== '');
    expect(lines.some((line) => line.includes('.training('))).toBe(true);
    expect(lines.length).toBeLessThanOrEqual(15);
  });

  test('the tutorial of recording an own agent takes at most ten lines of Python, from the import to a tree', () => {
    const [, block = ''] = PROGRAM.exec(read('docs/tutorials/record-your-own-agent.md')) ?? [];
    const lines = block.split('\n').filter((line) => line.trim() !== '');
    expect(lines[0]).toBe('import espalier_rl as er');
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length).toBeLessThanOrEqual(10);
  });

  test('a program in Python is recorded by one line besides the import, as the guide to autolog says it', () => {
    const [, block = ''] = PROGRAM.exec(read('docs/guides/autolog.md')) ?? [];
    expect(block.split('\n').filter((line) => line !== '')).toEqual(['import espalier_rl as er', 'er.autolog()']);
  });

  test('every command that a page names is one of the command line, with options that it has', async () => {
    const options = await optionsOfCommands();
    const named = pages.flatMap((page) => commandsOf(read(page)).map((line) => ({ page, line, why: faultOf(line, options) })));
    expect(named.filter(({ why }) => why !== null)).toEqual([]);
    expect(named.length).toBeGreaterThan(50);
    expect(faultOf('collect --tasks 3 --taks 4', options)).toBe('collect has no option --taks');
  });

  test('every GraphQL block is a document of the schema', async () => {
    const schema = buildSchema(await readTypeDefs());
    const blocks = pages.flatMap((page) =>
      [...read(page).matchAll(/^```graphql\n([\s\S]*?)^```$/gm)].map(([, block = '']) => ({ page, block })),
    );
    expect(blocks.length).toBeGreaterThan(2);
    for (const { page, block } of blocks)
      for (const definition of parse(block).definitions) {
        const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [definition] };
        expect({ page, errors: validate(schema, document).map(({ message }) => message) }).toEqual({ page, errors: [] });
      }
  });

  test('every page, generated ones too, is in the sidebar of the site', async () => {
    const sidebar = read('docs/.vitepress/config.ts');
    const links = [...sidebar.matchAll(/page\('[^']*', '\/([^']+)'\)/g)].map(([, link]) => `docs/${link}.md`);
    const own = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/index.md' && !/decisions\/\d/.test(page));
    const generated = Object.keys(await referencePages()).map((name) => `docs/reference/${name}`);
    expect(links.sort()).toEqual([...own, ...generated].sort());
  });

  test('the README has at most 150 lines', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(151);
  });
});

/**
 * What a page marks by `run` or `file=` is done by infra/release/guides.long.int.test.ts or, of pages for those who change the code,
 * by guides.long.int.test.ts; a block says of itself why no test runs it. `excerpt` is what a command printed, or of a page that is
 * not for users of Python a command too. CI runs the commands of the README and of CONTRIBUTING.
 */
function isCovered(page: string, info: string, isOutput: boolean, text: string): boolean {
  if (info === 'run' || info.startsWith('file=')) return true;
  if (/^# not run by a test: it (needs|takes) /.test(text)) return true;
  if (/^excerpt=\d{4}-\d\d-\d\d$/.test(info)) return isOutput || !OF_PYTHON.includes(page);
  return info === '' && ['README.md', 'CONTRIBUTING.md'].includes(page);
}

/** The flags of every command and subcommand, from the reference of the command line. */
async function optionsOfCommands(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const sections = (await cliReference()).split(/^###? espalier /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [name = ''] = section.split('\n');
      return [name, new Set([...section.matchAll(/^\| `(--[a-z-]+)/gm)].map(([, flag = '']) => flag))];
    }),
  );
}

/** The commands of espalier in a page: in its blocks, and between backticks where more than the name is there. */
function commandsOf(markdown: string): readonly string[] {
  const blocks = [...markdown.matchAll(/^```(?:sh|console)\b.*\n([\s\S]*?)^```$/gm)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const inline = [...markdown.matchAll(/`((?:npx )?espalier [^`]+)`/g)].map(([, command = '']) => command);
  return [...blocks, ...inline].flatMap((line) => {
    const [, command] = /(?:^|[$;] +|do )(?:npx |npm run -s )?espalier (?:-- )?(.*)$/.exec(line.replace(/\s+#.*$/, '')) ?? [];
    return command === undefined ? [] : [command];
  });
}

/** Describes what is wrong with a command; null when nothing is. Words in capitals and what is quoted are the reader's. */
function faultOf(line: string, options: ReadonlyMap<string, ReadonlySet<string>>): string | null {
  const words = line.replace(/'[^']*'|"[^"]*"/g, 'TEXT').split(/[\s;|]+/);
  const [first = '', second = ''] = words;
  if (/^[-A-Z…]/.test(first)) return null;
  const alternatives = second.split('\\|');
  const names = options.has(`${first} ${alternatives[0]}`) ? alternatives.map((word) => `${first} ${word}`) : [first];
  for (const name of names) {
    const flags = options.get(name);
    if (flags === undefined) return `no command ${name}`;
    const unknown = words.find(
      (word) => /^--[a-z]/.test(word) && !flags.has(word) && !['--json', '--debug', '--help'].includes(word),
    );
    if (unknown !== undefined) return `${name} has no option ${unknown}`;
  }
  return null;
}
