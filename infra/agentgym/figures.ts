import '../bench/production.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runProjections } from '../../src/projections/runner.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { startOpenAiServer } from '../../src/testing/openai-server.ts';
import { describeOutcome, type Figure, isMet, type Outcome } from '../bench/outcome.ts';
import { openStage, type Stage } from '../bench/stage.ts';
import { openStagePlatform } from '../bench/stage-platform.ts';
import { type Searched, searchMeasured } from './figures/measured-search.ts';
import { mineRevisions } from './figures/mine-revisions.ts';
import { modelReply } from './figures/model-replies.ts';
import { searchPublished } from './figures/search-published.ts';
import { COUNTING, type Published, startSidecar, startTextCraft } from './published/published-programs.ts';

const HELP = `Measures what a search costs on AgentGym's own TextCraft, next to Agent-R's own program: its mcts_collection.py as it is
published, then our search on the same server, and on our sidecar that runs AgentGym's classes and copies episodes. All get the same
replies of one stand-in of a model, and grow the same trees. Then the revisions of a search are composed and executed on both.
Each figure is printed with its ratio and its goal; exit 1 where one is not met.

  npx tsx infra/agentgym/figures.ts --agent-r DIR --agentgym DIR --client DIR --python PYTHON
    [--tasks 31,61,118,203,310,391,466,504] [--iterations 20] [--candidates 4] [--max-depth 5] [--json]

--agent-r   a checkout of Agent-R (bytedance/Agent-R)
--agentgym  a checkout of AgentGym (WooooDyy/AgentGym), for its server and its classes
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
    tasks: { type: 'string', default: '31,61,118,203,310,391,466,504' },
    iterations: { type: 'string', default: '20' },
    candidates: { type: 'string', default: '4' },
    'max-depth': { type: 'string', default: '5' },
    json: { type: 'boolean' },
  },
});
/** Shares of what the published program takes. */
const MOST = { copied: { steps: 0.15, wall: 0.5, cpu: 0.7 }, plain: { steps: 0.5, wall: 0.5, cpu: 0.7 } } as const;
const REVISED = { iterations: 8, candidates: 4, maxDepth: 8 }; // long trajectories, so that splices share long beginnings
const PER = 1_000; // revisions
const GOAL_MS = 30_000;

if (!values['agent-r'] || !values.agentgym || !values.client) {
  process.stderr.write(HELP);
  process.exitCode = 2;
} else {
  const folders = { agentR: resolve(values['agent-r']), agentGym: resolve(values.agentgym), client: resolve(values.client) };
  const stage = openStage('full');
  try {
    const outcome = await measure(stage, { python: values.python, ...folders });
    process.stdout.write(`${values.json ? JSON.stringify(outcome) : describeOutcome(outcome)}\n`);
    if (outcome.figures.some((figure) => isMet(figure) === false)) process.exitCode = 1;
  } finally {
    await stage.close();
  }
}

async function measure(stage: Stage, published: Published): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const steps = await openCounter(stage);
  const model = await startOpenAiServer({ reply: modelReply });
  stage.closing(() => model.close());
  const aliases = values.tasks.split(',');
  const sizes = {
    iterations: Number(values.iterations),
    candidates: Number(values.candidates),
    maxDepth: Number(values['max-depth']),
  };

  const counting = { COUNTED_STEPS: steps.file, PYTHONHASHSEED: '0' }; // its tasks open otherwise in every process
  const server = await startTextCraft(published, { ...counting, PYTHONPATH: COUNTING });
  stage.closing(() => server.close());
  const classes = join(published.agentGym, 'agentenv-textcraft');
  const sidecar = await startSidecar(published, {
    ...counting,
    PYTHONPATH: [COUNTING, PYTHON_PACKAGE, classes].join(delimiter),
  });
  stage.closing(() => sidecar.close());
  const plain = `agentgym:textcraft@${server.url}#${values.tasks}`;
  const copying = `server:${sidecar.url}`;

  const counted = async (search: () => Promise<Searched>): Promise<Counted> => {
    const before = await steps.read();
    return { ...(await search()), steps: (await steps.read()) - before };
  };
  const runOf = (environment: string, compat: boolean, how = sizes, runId = randomUUID()) =>
    searchMeasured({
      runId,
      environment,
      compat,
      policy: `openai:scripted@${model.url}`,
      databaseUrl: platform.databaseUrl,
      aliases,
      ...how,
    });
  // the first search of a server and of a database takes longer, whoever searches
  for (const environment of [plain, copying]) await runOf(environment, false, { ...sizes, iterations: 1 });
  const theirs = await counted(() => searchPublished(published, { url: server.url, model: model.url, aliases, ...sizes }));
  const own = await counted(() => runOf(plain, false));
  const copied = await counted(() => runOf(copying, false));
  const compat = await counted(() => runOf(plain, true));
  for (const { nodes } of [own, copied])
    if (nodes !== theirs.nodes)
      throw new Error(`our search grew ${nodes} nodes, where the published program grows ${theirs.nodes}`);

  const [alone, together] = [randomUUID(), randomUUID()];
  await runOf(plain, false, REVISED, alone);
  await runOf(copying, false, REVISED, together);
  const projecting = await runProjections({ log: platform.log, database: platform.database });
  stage.closing(() => projecting.close());
  const onPlain = await mineRevisions(platform, alone, plain);
  const onCopying = await mineRevisions(platform, together, copying);
  return {
    bench: 'agentgym-figures',
    figures: [
      ...sharesOf('sidecar', copied, theirs, MOST.copied),
      ...sharesOf('plain server', own, theirs, MOST.plain),
      ...sharesOf("plain server, Agent-R's rules", compat, theirs, null),
      perRevisions('plain server', onPlain),
      perRevisions('sidecar', onCopying),
    ],
    conditions: {
      ...stage.conditions(),
      tasks: values.tasks,
      ...sizes,
      nodes: theirs.nodes,
      "nodes by Agent-R's rules": compat.nodes,
      revisions: onPlain.revisions,
      verified: onPlain.verified,
    },
  };
}

type Counted = Searched & { readonly steps: number };

function sharesOf(
  name: string,
  ours: Counted,
  theirs: Counted,
  most: { readonly steps: number; readonly wall: number; readonly cpu: number } | null,
): readonly Figure[] {
  const figure = (what: string, unit: Figure['unit'], of: (run: Counted) => number, share: number | undefined): Figure => ({
    name: `${name}: ${what}`,
    value: of(ours),
    unit,
    baseline: { name: "Agent-R's program", value: of(theirs), unit },
    goal: share === undefined ? null : { kind: 'share', most: share },
  });
  return [
    figure('environment steps', 'steps', (run) => run.steps, most?.steps),
    figure('time', 'ms', (run) => run.wallMs, most?.wall),
    figure('CPU of the client', 'ms', (run) => run.cpuMs, most?.cpu),
  ];
}

function perRevisions(name: string, { revisions, wallMs }: { readonly revisions: number; readonly wallMs: number }): Figure {
  if (revisions === 0) throw new Error('no revision was composed');
  const value = (wallMs * PER) / revisions;
  return {
    name: `${name}: 1,000 revisions composed and executed`,
    value,
    unit: 'ms',
    baseline: null,
    goal: { kind: 'below', limit: GOAL_MS },
  };
}

/** Opens the file in which processes count the actions that AgentGym's class executes. */
async function openCounter(stage: Stage): Promise<{ readonly file: string; read(): Promise<number> }> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-counted-'));
  stage.closing(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'steps');
  await writeFile(file, Buffer.alloc(8));
  return { file, read: async () => Number((await readFile(file)).readBigUInt64LE()) };
}
