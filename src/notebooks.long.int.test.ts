import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from './postgres/embedded-server.ts';
import { freePort } from './runtime/free-port.ts';
import { PYTHON_PACKAGE } from './runtime/python-server.ts';
import { type Notebook, printed, shown, stored } from './testing/notebook.ts';
import { notebooksForTests } from './testing/python.ts';
import { killRunning, startNode } from './testing/worker-process.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FOLDER = join(ROOT, 'examples/notebooks');
const NAMES = readdirSync(FOLDER).filter((name) => name.endsWith('.ipynb'));
const found = await notebooksForTests();
const python = found.kind === 'found' ? found.python : '';

let home: string;
let env: Readonly<Record<string, string | undefined>>;
beforeAll(async () => {
  if (found.kind === 'none') return;
  home = await mkdtemp(join(tmpdir(), 'espalier-notebooks-'));
  const port = await freePort();
  const installation = { ESPALIER_HOME: home, ESPALIER_PORT: String(port), ESPALIER_LOG_LEVEL: 'error' };
  const up = startNode(['bin/espalier.js', 'up'], 'espalier up', installation);
  const listening = async () => {
    while (!up.stdout().includes('GraphQL')) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  await Promise.race([listening(), up.ended.then((code) => Promise.reject(new Error(`up ended with ${code}:\n${up.stderr()}`)))]);
  env = {
    PATH: process.env.PATH,
    HOME: home,
    ...installation,
    ESPALIER_URL: `http://127.0.0.1:${port}`,
    ESPALIER_SPOOL: join(home, 'spool'),
    PYTHONPATH: PYTHON_PACKAGE,
    HF_HUB_OFFLINE: '1',
    PYTHONWARNINGS: 'ignore',
  };
});
afterAll(async () => {
  await killRunning();
  if (found.kind === 'none') return;
  await (await startEmbeddedPostgres({ folder: join(home, 'postgres') })).close(); // waits until the server of `up` has stopped
  await rm(home, { recursive: true, force: true });
});

/**
 * Executes a notebook from its first cell to its last by nbconvert, as Jupyter would.
 * @throws Error with the cell that failed.
 */
async function executed(name: string): Promise<Notebook> {
  const args = ['-m', 'nbconvert', '--to', 'notebook', '--execute', '--ExecutePreprocessor.timeout=400'];
  await new Promise<void>((resolve, reject) => {
    const command = [...args, '--output-dir', home, join(FOLDER, name)];
    execFile(python, command, { cwd: ROOT, env, timeout: 500_000, maxBuffer: 16 * 2 ** 20 }, (error, _, stderr) =>
      error ? reject(new Error(stderr.slice(-4_000))) : resolve(),
    );
  });
  const notebook: Notebook = JSON.parse(await readFile(join(home, name), 'utf8'));
  if (process.env.ESPALIER_WRITE_EVIDENCE === '1') await writeFile(join(FOLDER, name), stored(notebook));
  return notebook;
}

/** What each notebook shows when it is executed against a server. */
const SHOWN: Readonly<Record<string, (notebook: Notebook) => void>> = {
  'record.ipynb': (notebook) => {
    expect(printed(notebook)).toMatch(/^Run\('guesser', id='[0-9a-f-]{36}', outcome='completed'\)$/m);
    expect(shown(notebook, 'text/plain').match(/Find the number (?:7|13)\./g)).toHaveLength(16);
    const [tree = ''] = /<details[\s\S]*/.exec(shown(notebook, 'text/html')) ?? [];
    for (const said of ['10', '9', '5', 'terminated, success, return 1', 'terminated, no success']) expect(tree).toContain(said);
    expect(printed(notebook)).toContain(
      'logprobs | logprobs has 1 numbers and ids has 2; give one log-probability for each token id',
    );
  },
  'explore.ipynb': (notebook) => {
    const table = shown(notebook, 'text/plain');
    for (let goal = 1; goal <= 6; goal++) expect(table).toMatch(new RegExp(`Walk to ${goal}\\. +8 `));
    expect(table).toMatch(/left +┆ \d+ +┆ -1\.204/); // ln 0.3, by which each step to the left was recorded
    expect(table).toMatch(/right +┆ \d+ +┆ -0\.357/);
    expect(printed(notebook)).toContain("24 rollouts then and 48 now, of the tasks ['Walk to 1.', 'Walk to 2.', 'Walk to 3.']");
    const html = shown(notebook, 'text/html');
    expect(html).toMatch(/probability 0\.300">left <\/span>/);
    expect(html).toMatch(/two trajectories that part at depth \d/);
    expect(html).toContain('<mark>');
    expect(html).not.toMatch(/<script|src="(?!data:)/);
  },
  'train.ipynb': (notebook) => {
    const [, said = '[]'] = /success by version: (\[.*\])/.exec(printed(notebook)) ?? [];
    const success: readonly number[] = JSON.parse(said);
    expect(success).toHaveLength(7);
    expect(success.at(-1)).toBeGreaterThan((success[0] ?? 1) + 0.2); // it learns
    expect(printed(notebook)).toContain("{'produced': 336, 'trained': 288, 'difference': 0}");
    expect(shown(notebook, 'text/plain').match(/^\d? +trained +48 /gm)).toHaveLength(6);
  },
  'import_atif.ipynb': (notebook) => {
    expect(printed(notebook)).toContain("{'source': 'atif', 'trees': 1, 'rollouts': 1, 'steps': 2, 'alreadyThere': 0}");
    expect(shown(notebook, 'text/plain')).toMatch(/\[40, 41, 42, 2\] +qwen/);
    expect(shown(notebook, 'text/html')).toContain('41: log-prob -2.500, probability 0.082');
    expect(printed(notebook)).toMatch(/^(\d+) of \1 events were there$/m);
    expect(printed(notebook)).toMatch(/trajectory\.json.*step 3: 4 completion_token_ids and 3 logprobs; give one of each/);
  },
  'compare.ipynb': (notebook) => {
    const all = shown(notebook, 'text/plain');
    const difference = Number(/'difference': ([\d.-]+)/.exec(all)?.[1]);
    const low = Number(/'low': ([\d.-]+)/.exec(all)?.[1]);
    expect(all).toMatch(/'tasks': 12,\s+'unpaired': 0/);
    expect(difference).toBeGreaterThan(0);
    expect(low).toBeGreaterThan(0); // halving finds every number, hasty does not
    expect(all).toMatch(/'mean': 1,/);
    expect(shown(notebook, 'text/html')).toContain('two trajectories that part at depth 1');
  },
};

describe('the notebooks in examples/notebooks', () => {
  test('each has at most twelve cells, is shown by a page, and holds no path or address of the machine that executed it', () => {
    expect([...NAMES].sort()).toEqual(Object.keys(SHOWN).sort());
    const page = readFileSync(join(ROOT, 'docs/tutorials/notebooks.md'), 'utf8');
    for (const name of NAMES) {
      const text = readFileSync(join(FOLDER, name), 'utf8');
      const { cells }: Notebook = JSON.parse(text);
      expect([name, cells.length <= 12, text.length < 100_000]).toEqual([name, true, true]);
      expect(text).not.toMatch(/\/root\/|\/home\/|\/tmp\/|\/work\/|127\.0\.0\.1:\d|site-packages/);
      expect(cells.some(({ outputs }) => outputs?.some(({ output_type: kind }) => kind === 'error'))).toBe(false);
      expect(page).toContain(`examples/notebooks/${name}`);
    }
  });

  (found.kind === 'found' ? test.each(NAMES) : test.skip.each(NAMES))(
    `%s runs from its first cell to its last against a server that was started for it, and shows what it says (${found.kind === 'found' ? found.versions : found.reason})`,
    async (name) => {
      const notebook = await executed(name);
      SHOWN[name]?.(notebook);
      expect(printed(notebook, 'stderr')).toBe('');
    },
    600_000,
  );
});
