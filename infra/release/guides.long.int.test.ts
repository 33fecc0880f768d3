import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../src/runtime/free-port.ts';
import type { GuideFolder } from '../../src/testing/guides/guide-folder.ts';
import { installedPages, readPage } from '../../src/testing/guides/pages.ts';
import { blocksNotRun, readGuide } from '../../src/testing/guides/read-guide.ts';
import { type Here, runGuide } from '../../src/testing/guides/run-guide.ts';
import { type OpenAiServer, startOpenAiServer } from '../../src/testing/openai-server.ts';
import { consumersForTests } from '../../src/testing/python.ts';
import { buildRelease, InstalledWheel, type InstallOptions } from './installed-wheel-testing.ts';

const LONGEST_MS = 1_800_000;
const PAGES = installedPages().filter((page) => readGuide(readPage(page)).some(({ kind }) => kind !== 'create'));
/** Pages with a real model: their packages take gigabytes, so that the environment sees those of the tests. */
const WITH_A_MODEL = [
  '../README',
  'guides/train-with-trl',
  'tutorials/bring-your-own-trainer',
  'tutorials/record-your-own-agent',
];
const NOT_RUN = installedPages().flatMap((page) => blocksNotRun(readPage(page)).map((block) => ({ page, ...block })));
const found = await consumersForTests();

let folder: string;
let release: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-published-'));
  release = await buildRelease(join(folder, 'release'));
}, LONGEST_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('where pip installed the packages, for an account without Node and without the checkout', () => {
  const installed = useInstalled(() => ({
    release,
    account: 'unprivileged',
    packages: ['espalier-rl[arrow,hf,openai]', 'pandas', 'polars', 'pillow', 'langchain-openai', 'langgraph'],
  }));
  let model: OpenAiServer;
  beforeAll(async () => {
    model = await startOpenAiServer({ tokenIds: 'token_ids', reply: () => 'The capital of France is Paris.' });
  });
  afterAll(() => model?.close());

  test.each(PAGES.filter((page) => !WITH_A_MODEL.includes(page)))(
    'every command and program of %s does what the page shows',
    (page) => installed.follow(page, (text) => text.replaceAll('http://127.0.0.1:8000/v1', model.url)),
    LONGEST_MS,
  );
});

(found.kind === 'found' ? describe : describe.skip)('where its environment has torch and a real model', () => {
  const installed = useInstalled(() => ({
    release,
    account: 'own',
    ...(found.kind === 'found' ? { sees: found.python } : {}),
    packages: ['openai'],
  }));
  test.each(WITH_A_MODEL)(
    'every command and program of %s does what the page shows',
    (page) => installed.follow(page, (text) => text),
    LONGEST_MS,
  );
});

describe('blocks that no test runs', () => {
  test.each(NOT_RUN)('$page: $line ($reason)', ({ reason }) => {
    expect(reason).toMatch(/^it (needs|takes) /);
  });
});

/** Installs for the tests of a block, and serves an installation there. */
function useInstalled(options: () => InstallOptions) {
  let place: InstalledWheel;
  let server: Awaited<ReturnType<InstalledWheel['up']>>;
  beforeAll(async () => {
    place = await InstalledWheel.make(options());
    server = await place.up();
  }, LONGEST_MS);
  afterAll(async () => {
    await server?.close();
    await place?.remove();
  });
  return {
    async follow(page: string, adapted: Here['adapted']): Promise<void> {
      const ports = [String(await freePort()), String(await freePort())] as const;
      const here = {
        adapted: (text: string) =>
          adapted(text)
            .replaceAll('http://127.0.0.1:4000', server.url)
            .replaceAll(/\b8000\b/g, ports[0])
            .replaceAll(/\b4100\b/g, ports[1])
            .replaceAll('er.serve()', 'er.serve(port=0)'),
        words: {},
        ...(ALONE.includes(page) ? { env: { ESPALIER_PORT: '0' } } : {}),
      };
      const at = await place.folderFor(page, ALONE.includes(page) ? 'empty' : 'served');
      const given = GIVEN[page];
      try {
        const words = given === undefined ? {} : (JSON.parse(await program(given, at, here)) as Here['words']);
        const printed = await runGuide(readGuide(readPage(page)), at, { ...here, words });
        await AFTERWARDS[page]?.(printed, (query) => ask(query, at, here));
      } finally {
        at.endBackground();
      }
    },
  };
}

/** Pages that begin without a server. */
const ALONE = ['guides/install', 'tutorials/first-run'];

const RECORD = `
def record(name, n=2, **more):
    with db.run(name, policy="qwen@1") as run:
        group = run.group("planks", n=n)
        made = []
        for episode in group:
            step = episode.step(str(42 - episode.ordinal), "Right.", reward=float(episode.ordinal > 0), prompt=[{"role": "user", "content": "What is 6 times 7?"}], **more)
            episode.finish(success=episode.ordinal > 0)
            made.append((step.id, episode.id))
    db.catch_up(60)
    return run.id, group.tree_id, made`;

/** What a page's commands act on: programs that print it as JSON, by the words of the page. */
const GIVEN: Readonly<Record<string, string>> = {
  'guides/analyse-in-python': 'print(json.dumps({"RUN": record("analysed")[0]}))',
  'guides/export': `
from PIL import Image
print(json.dumps({"RUN": record("exported")[0], "PICTURES": record("with pictures", images=[Image.new("RGB", (3, 2))])[0]}))`,
  'guides/keys-and-projects': `
made = [subprocess.run(["espalier", "keys", "create", "--name", name, "--scopes", "read", "--json"], capture_output=True, check=True) for name in "ab"]
print(json.dumps(dict(zip(("KEY", "OTHER"), (json.loads(each.stdout)["keyId"] for each in made)))))`,
  'guides/review': `
import openai
run, tree, made = record("reviewed", n=4)
[annotation] = db.annotate(made[0][0], label="seen")
line = ["dataset", "release", "--json", "--name", "qa", "--run", run, "--format", "openai", "--data", "good", "--out", "qa.jsonl"]
dataset = json.loads(subprocess.run(["espalier", *line], capture_output=True, check=True).stdout)["dataset"]["id"]
er.autolog(run="asked")
asked = [{"role": "user", "content": "What is the capital of France?"}]
reply = openai.OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="unused").chat.completions.create(model="smollm2", messages=asked)
er.end(success=True)
er.flush()
db.catch_up(60)
print(json.dumps({"STEP": made[0][0], "TREE": tree, "ROLLOUT": made[0][1], "OTHER": made[1][1], "ANNOTATION": annotation, "REPLY": reply.id, "DATASET": dataset}))`,
  'tutorials/bring-your-own-trainer': `
whole = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
with db.run("sampled", policy="qwen@0", training=True, config={"temperature": 1.0}) as run:
    for task in "abcd":
        for episode in run.group(task, n=2):
            episode.step("two words", "done", reward=float(episode.ordinal), prompt_ids=[4, 5], ids=[6, 7], logprobs=[-4.6, -4.6], sampling=whole)
            episode.finish(success=episode.ordinal == 1)
print("{}")`,
};

function program(text: string, at: GuideFolder, here: Here): Promise<string> {
  const whole = `import json, subprocess\nimport espalier_rl as er\n\ndb = er.connect()\n${RECORD}\n${text}\n`;
  return runGuide([{ kind: 'python', text: whole }], at, here).then(([printed = '']) => printed);
}

async function ask(query: string, at: GuideFolder, here: Here): Promise<unknown> {
  return JSON.parse(await program(`db.catch_up(60)\nprint(json.dumps(db.query(${JSON.stringify(query)})))`, at, here));
}

type Afterwards = (printed: readonly string[], ask: (query: string) => Promise<unknown>) => Promise<void> | void;
const RUNS = (name: string, fields: string) => `{ runs(filter: { text: "${name}" }) { nodes { ${fields} } } }`;

/** What else is true when a page was followed. */
const AFTERWARDS: Readonly<Record<string, Afterwards>> = {
  'guides/analyse-in-python': ([printed = '']) => expect(printed).toMatch(/^task \w+ +1\.0 +0\.0 /m), // one that failed
  'guides/autolog': async (_, ask) => {
    const recorded = await ask(RUNS('langgraph', 'outcome totals { rollouts steps successes }'));
    expect(recorded).toEqual({ runs: { nodes: [{ outcome: null, totals: { rollouts: 1, steps: 2, successes: 1 } }] } });
  },
  'guides/capture': async (_, ask) => {
    const recorded = await ask(RUNS('RUN', 'totals { rollouts steps successes meanReturn }'));
    expect(recorded).toEqual({ runs: { nodes: [{ totals: { rollouts: 1, steps: 1, successes: 1, meanReturn: 1 } }] } });
  },
  'guides/record-from-python': async (_, ask) => {
    const recorded = await ask(RUNS('swarm', 'totals { trees rollouts steps }'));
    expect(recorded).toEqual({ runs: { nodes: [{ totals: { trees: 1, rollouts: 1, steps: 1 } }] } });
  },
  'tutorials/bring-your-own-trainer': async (_, ask) => {
    const asked = await ask(
      '{ policy(id: "qwen") { versions(first: 9) { nodes { weights } } ledger { produced trained difference } } }',
    );
    const { policy } = asked as { policy: { versions: { nodes: readonly { weights: string }[] } } };
    expect(policy).toMatchObject({ ledger: { produced: 8, trained: 8, difference: 0 } });
    expect(new Set(policy.versions.nodes.map(({ weights }) => weights)).size).toBe(3);
  },
  'tutorials/record-your-own-agent': async ([link = ''], ask) => {
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/view\/run\//);
    const totals = { trees: 2, closedTrees: 2, rollouts: 16, successes: 16, steps: 16, meanReturn: 1 };
    expect(await ask(RUNS('guesser', 'outcome totals { trees closedTrees rollouts successes steps meanReturn }'))).toEqual({
      runs: { nodes: [{ outcome: 'completed', totals }] },
    });
    const chat = await ask(
      RUNS('smollm2', 'outcome trees(first: 2) { nodes { steps(first: 9) { response tokens { ids { length } } } } }'),
    );
    expect(JSON.stringify(chat)).toContain('"response":"The capital of France is Paris.","tokens":{"ids":{"length":8}}');
  },
  'tutorials/your-own-environment': (printed) => {
    const percents = (text: string, row: RegExp) => Number(row.exec(text)?.[1]);
    const [trained = '', evaluated = ''] = printed.slice(-2);
    const before = percents(trained, /^ +0 +([\d.]+) /m);
    expect(percents(trained, /^ +5 +([\d.]+) /m)).toBeGreaterThan(before + 20); // on tasks that it never saw
    expect(percents(evaluated, /^success +([\d.]+)%/m)).toBeGreaterThan(before + 20);
  },
};
