import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { textReader } from '../../src/blobs/read-text.ts';
import { REFLECTIONS } from '../../src/domain/revision/compose-revisions.ts';
import { publishedOpening } from '../../src/domain/search/published-prompt.ts';
import { type PublishedNode, publishedTree } from '../../src/domain/search/published-tree.ts';
import { newId } from '../../src/events/new-id.ts';
import { openPlatform } from '../../src/platform/open-platform.ts';
import { readSearchedTree } from '../../src/projections/revisions/read-searched-trees.ts';
import { readPublishedFiles } from '../../src/projections/runs/read-published-files.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { startOpenAiServer } from '../../src/testing/openai-server.ts';
import { runInProcess } from '../../src/testing/worker-process.ts';
import { type Compared, compareRows, compareTrees, type Row } from './compare-results.ts';
import { type Published, readSentences, runPublished, startTextCraft, startTieServer } from './published-programs.ts';
import { STYLES, type Style, scriptedReplies } from './scripted-replies.ts';

const HELP = `Compares our search and rows with those of Agent-R's own programs: mcts_collection.py and path_collection.py run as they are
published, against AgentGym's own TextCraft server and its client; then \`espalier collect --search mcts --compat agent-r\` and
\`espalier revise --mode faithful\` against the same server. Both get their replies from one stand-in of a model, once in good form
and once in wrong forms, and ties are drawn alike. Every node, every value and every row is compared; exit 1 on any difference.

  npx tsx infra/agentgym/against-published.ts --agent-r DIR --agentgym DIR --client DIR --python PYTHON
    [--tasks 61,118,203,310] [--seed 1] [--iterations 6] [--candidates 4] [--max-depth 5] [--styles tidy,untidy]

--agent-r   a checkout of Agent-R (ByteDance-Seed/Agent-R)
--agentgym  a checkout of AgentGym (WooooDyy/AgentGym), for its server
--client    a checkout of AgentGym at 9acebc9, for the client that Agent-R was written against
--python    a Python with fastapi, uvicorn, gymnasium, numpy, requests, tqdm, and fschat 0.2.36 (pip install --no-deps)
--tasks     keys of textcraft_train_clean.json; the published program takes no others
`;

const { values } = parseArgs({
  options: {
    'agent-r': { type: 'string' },
    agentgym: { type: 'string' },
    client: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    tasks: { type: 'string', default: '61,118,203,310' },
    seed: { type: 'string', default: '1' },
    iterations: { type: 'string', default: '6' },
    candidates: { type: 'string', default: '4' },
    'max-depth': { type: 'string', default: '5' },
    styles: { type: 'string', default: STYLES.join(',') },
  },
});
const THRESHOLDS = { alpha: '0.5', beta: '0.2' } as const;
/** Revisions of judged trajectories, revisions of whole ones that nobody judges, and good trajectories alone. */
const ROWS = ['judged', 'direct', 'good'] as const;
const PUBLISHED = {
  judged: ['--data_type', 'centric'],
  direct: ['--data_type', 'direct', '--revise', '0'],
  good: ['--data_type', 'good'],
} as const;
const OURS = { judged: ['--judge', 'self'], direct: ['--revise', '0'], good: ['--data-type', 'good'] } as const;
const SHOWN = 10; // differences of each kind
const seed = Number(values.seed);

if (!values['agent-r'] || !values.agentgym || !values.client) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else {
  const folders = { agentR: values['agent-r'], agentGym: values.agentgym, client: values.client };
  process.exitCode = (await compareAll({
    python: values.python,
    agentR: resolve(folders.agentR),
    agentGym: resolve(folders.agentGym),
    client: resolve(folders.client),
  }))
    ? 0
    : 1;
}

/** Returns whether nothing differs. */
async function compareAll(published: Published): Promise<boolean> {
  const environment = await startTextCraft(published);
  const reflections = await readSentences(published);
  let same = true;
  try {
    for (const style of STYLES.filter((each) => values.styles.split(',').includes(each))) {
      const theirs = await searchAsPublished(published, environment.url, style);
      const ours = await searchHere(environment.url, style);
      const words = {
        theirs: { instruction: instructionOf(theirs), reflections },
        ours: { instruction: instructionOf(ours), reflections: REFLECTIONS },
      };
      const trees = [...theirs.trees].map(([alias, tree]) => compareTrees(tree, treeOf(ours, alias), words, `task ${alias}`));
      same = report(`${style}: nodes`, merged(trees)) && same;
      for (const kind of ROWS)
        same = report(`${style}: rows, ${kind}`, compareRows(theirs.rows[kind], ours.rows[kind], words)) && same;
    }
  } finally {
    await environment.close();
  }
  return same;
}

interface Results {
  readonly trees: ReadonlyMap<string, Tree>;
  readonly rows: Readonly<Record<(typeof ROWS)[number], readonly Row[]>>;
}
type Tree = PublishedNode;

function treeOf({ trees }: Results, alias: string): Tree {
  const tree = trees.get(alias);
  if (!tree) throw new Error(`our search has no finished tree of task ${alias}`);
  return tree;
}

/** The second message of every conversation, behind the system's. */
function instructionOf({ trees }: Results): string {
  const [tree] = trees.values();
  const state = z.array(z.object({ content: z.string() })).parse(tree?.state);
  return state[1]?.content ?? '';
}

async function searchAsPublished(published: Published, url: string, style: Style): Promise<Results> {
  const aliases = values.tasks.split(',');
  const model = await startOpenAiServer({ reply: scriptedReplies(style, seed) });
  const ties = await startTieServer(seed, aliases);
  const folder = await mkdtemp(join(tmpdir(), 'agent-r-'));
  const env = {
    MODEL_SERVER: model.url,
    TIES: ties.url,
    MODEL_DIR: 'scripted',
    MODEL_NAME: 'scripted',
    ITERA: values.iterations,
    N_GEN: values.candidates,
    MAX_DEPTH: values['max-depth'],
    MAX_TOKEN_LENGTH: '1000000000',
    ALPHA: THRESHOLDS.alpha,
    BETA: THRESHOLDS.beta,
  };
  try {
    const results = join(folder, 'mcts_result', 'textcraft', 'scripted');
    const trees = new Map<string, Tree>();
    // The program reads its list of tasks from a path below the folder where it runs.
    await symlink(join(published.agentR, 'mcts_utils'), join(folder, 'mcts_utils'));
    for (const alias of aliases) {
      const range = ['--min', alias, '--max', String(Number(alias) + 1)];
      await runPublished(
        published,
        'mcts_collection.py',
        ['--env_server_base', url, '--model_name', 'scripted', ...range],
        env,
        folder,
      );
      trees.set(alias, JSON.parse(await readFile(join(results, `search_results_${alias}.json`), 'utf8')));
    }
    const rowsOf = async (kind: (typeof ROWS)[number]) => {
      const output = join(folder, kind);
      const args = ['--input_dir', results, '--output_dir', output, ...PUBLISHED[kind]];
      await runPublished(published, 'path_collection.py', args, env, folder);
      return readRows(join(output, `textcraft_${PUBLISHED[kind][1]}.jsonl`));
    };
    return { trees, rows: { judged: await rowsOf('judged'), direct: await rowsOf('direct'), good: await rowsOf('good') } };
  } finally {
    await rm(folder, { recursive: true, force: true });
    await ties.close();
    await model.close();
  }
}

async function searchHere(url: string, style: Style): Promise<Results> {
  const model = await startOpenAiServer({ reply: scriptedReplies(style, seed) });
  const home = await mkdtemp(join(tmpdir(), 'espalier-against-'));
  const env = { ESPALIER_HOME: home };
  const espalier = async (...words: string[]) => {
    const { code, stderr } = await runInProcess(words, env);
    if (code !== 0) throw new Error(`espalier ${words.join(' ')} ended with ${code}:\n${stderr.slice(-4_000)}`);
  };
  const runId = newId();
  const policy = `openai:scripted@${model.url}`;
  try {
    const searched = [
      '--search',
      'mcts',
      '--compat',
      'agent-r',
      '--iterations',
      values.iterations,
      '--candidates',
      values.candidates,
    ];
    const tasks = ['--environment', `agentgym:textcraft@${url}#${values.tasks}`, '--task', ...values.tasks.split(',')];
    const sizes = ['--max-depth', values['max-depth'], '--seed', values.seed, '--run', runId];
    await espalier('collect', ...tasks, '--policy', policy, ...searched, ...sizes);
    const thresholds = ['--alpha', THRESHOLDS.alpha, '--beta', THRESHOLDS.beta];
    const rowsOf = async (kind: (typeof ROWS)[number]) => {
      const rows = join(home, `${kind}.jsonl`);
      await espalier('revise', '--run', runId, '--mode', 'faithful', ...OURS[kind], ...thresholds, '--out', rows);
      return readRows(rows);
    };
    const rows = { judged: await rowsOf('judged'), direct: await rowsOf('direct'), good: await rowsOf('good') };
    return { trees: await readTreesHere(env, runId), rows };
  } finally {
    await model.close();
    await rm(home, { recursive: true, force: true });
  }
}

async function readTreesHere(env: Readonly<Record<string, string>>, runId: string): Promise<ReadonlyMap<string, Tree>> {
  const platform = await openPlatform(readConfig(env), 'against-published');
  try {
    const { db } = platform.database;
    const trees = new Map<string, Tree>();
    for (const { treeId, alias } of (await readPublishedFiles(db, runId)).files) {
      const searched = await readSearchedTree(db, treeId, textReader(platform.blobs));
      if (!searched) throw new Error(`there is no tree ${treeId}`);
      const { instruction, firstObservation: observation, tree } = searched;
      trees.set(alias, publishedTree({ opening: publishedOpening({ instruction, observation }), tree }));
    }
    return trees;
  } finally {
    await platform.close();
  }
}

async function readRows(file: string): Promise<readonly Row[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

function merged(parts: readonly Compared[]): Compared {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    differences: parts.flatMap(({ differences }) => differences),
  };
}

/** Reports how many were compared and what differs. Returns whether nothing does. */
function report(what: string, { count, differences }: Compared): boolean {
  process.stdout.write(`${what}: ${count} compared, ${differences.length} differences\n`);
  for (const { at, theirs, ours } of differences.slice(0, SHOWN))
    process.stdout.write(`  ${at}\n    theirs ${abridged(theirs)}\n    ours   ${abridged(ours)}\n`);
  return differences.length === 0 && count > 0;
}

function abridged(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 400 ? text : `${text.slice(0, 400)}…`;
}
