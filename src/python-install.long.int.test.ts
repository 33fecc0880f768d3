import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from './postgres/embedded-server.ts';
import { childEnvironment } from './runtime/config.ts';
import { freePort } from './runtime/free-port.ts';
import { PYTHON_PACKAGE } from './runtime/python-server.ts';
import { pythonForTests } from './testing/python.ts';
import { until } from './testing/until.ts';
import { type StartedServer, serveModel } from './training/backends/torch/serve-model.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const LONGEST_MS = 900_000;
const run = promisify(execFile);
const torch = await pythonForTests();
// what httpx brings; pip and setuptools are those of the new Python itself
const CORE = ['anyio', 'certifi', 'exceptiongroup', 'h11', 'httpcore', 'httpx', 'idna', 'sniffio', 'typing_extensions'];
const reachable = await run('python3', ['-m', 'pip', 'index', 'versions', 'httpx'], { timeout: 60_000 }).then(
  () => true,
  () => false,
);

/** A folder with a Python of its own and a copy of `python/`, an installation that `npm run up` started, and a model server. */
describe(reachable ? 'a fresh machine' : 'a fresh machine: skipped, PyPI does not answer', () => {
  let folder: string;
  let python: string;
  let port: number;
  let up: ChildProcess;
  let heard = '';
  let model: StartedServer | undefined;
  beforeAll(async () => {
    if (!reachable) return;
    folder = await mkdtemp(join(tmpdir(), 'espalier-fresh-'));
    await cp(PYTHON_PACKAGE, join(folder, 'python'), { recursive: true });
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    python = join(folder, 'venv/bin/python');
    if (torch.kind === 'found') {
      await run(torch.python, ['-m', 'espalier_rl.trainer.tiny', '--out', join(folder, 'served/tiny')], { cwd: PYTHON_PACKAGE });
      model = await serveModel({ python: torch.python, folder: join(folder, 'served'), checkpoint: 'tiny', name: 'tiny' });
    }
    port = await freePort();
    up = spawn('npm', ['run', 'up'], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // npm starts processes of its own
      env: childEnvironment({
        ESPALIER_HOME: join(folder, 'home'),
        ESPALIER_PORT: `${port}`,
        ESPALIER_LOG_LEVEL: 'error',
        ...(model ? { ESPALIER_UPSTREAM: model.url } : {}),
      }),
    });
    for (const stream of [up.stdout, up.stderr])
      stream?.on('data', (chunk: Buffer) => {
        heard += chunk.toString();
      });
    await until(async () => {
      if (up.exitCode !== null) throw new Error(`npm run up ended: ${heard}`);
      return heard.includes('GraphQL');
    }, LONGEST_MS);
  }, LONGEST_MS);
  afterAll(async () => {
    if (!reachable) return;
    await model?.close();
    if (up.pid !== undefined && up.exitCode === null) {
      const ended = new Promise((resolve) => up.once('close', resolve));
      process.kill(-up.pid, 'SIGTERM');
      await ended;
    }
    await (await startEmbeddedPostgres({ folder: join(folder, 'home/postgres') })).close(); // waits until its server has stopped
    await rm(folder, { recursive: true, force: true });
  }, LONGEST_MS);

  const install = (what: string) =>
    run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', what], { cwd: folder, timeout: LONGEST_MS });

  /** Runs a program in the folder, with nothing of this package's sources in sight. @throws Error with what it said. */
  async function execute(script: string): Promise<string> {
    const env = childEnvironment({
      ESPALIER_HOME: join(folder, 'home'),
      ESPALIER_URL: `http://127.0.0.1:${port}`,
      ESPALIER_SPOOL: join(folder, 'spool'),
      OPENAI_API_KEY: 'unused',
      HF_HUB_OFFLINE: '1',
    });
    const file = join(folder, 'program.py');
    await writeFile(file, script);
    return (await run(python, [file], { cwd: folder, env, timeout: LONGEST_MS })).stdout;
  }

  const installed = reachable ? test : test.skip;
  const trained = reachable && torch.kind === 'found' ? test : test.skip;

  installed(
    'pip install ./python brings httpx and nothing else',
    async () => {
      await install('./python');
      const { stdout } = await run(python, ['-m', 'pip', 'list', '--format=freeze', '--disable-pip-version-check']);
      const names = stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split(/==| @ /)[0]?.toLowerCase() ?? '']));
      const own = ['espalier-rl', 'pip', 'setuptools', 'wheel'];
      expect(names.filter((name) => !own.includes(name) && !CORE.includes(name.replace('-', '_')))).toEqual([]);
      expect(names).toContain('httpx');
    },
    LONGEST_MS,
  );

  installed(
    'an episode takes tokens, pictures and tools in one line, a function is recorded sync or async, a search is expanded, and a step branches',
    async () => {
      await execute(EVERY_CALL);
      const asked =
        '{ runs(filter: { text: "every call" }) { nodes { outcome totals { rollouts failed } trees(first: 20) { nodes { task { alias } steps(first: 20) { response tokens { ids { length } } toolCalls { tool } pictures { width } } } } } } }';
      const said = JSON.stringify(await ask(asked));
      expect(said).toContain('"outcome":"completed"');
      expect(said).toContain('"failed":0');
      expect(said).toContain(
        '"response":"six","tokens":{"ids":{"length":2}},"toolCalls":[{"tool":"look"}],"pictures":[{"width":1}]',
      );
      for (const response of ['sync', 'async', 'another', 'node']) expect(said).toContain(`"response":"${response}"`);
    },
    LONGEST_MS,
  );

  trained(
    'one line in an agent that uses a client of OpenAI records its calls with token ids',
    async () => {
      await install('./python[openai]');
      await execute(`import espalier_rl as er
er.autolog(run="RUN")
from openai import OpenAI
client = OpenAI()
messages = [{"role": "user", "content": "Say a word."}]
for _ in range(2):
    reply = client.chat.completions.create(model="tiny", messages=messages, max_tokens=8).choices[0].message.content
    messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": "Another one."}]
er.flush()
er.end_run("RUN")`);
      const asked =
        '{ runs(filter: { text: "RUN" }) { nodes { outcome trees(first: 2) { nodes { steps(first: 9) { depth tokens { ids { length } } } } } } } }';
      const recorded = JSON.stringify(await ask(asked));
      expect(recorded).toContain('"outcome":"completed"');
      expect(recorded).toMatch(
        /"depth":1,"tokens":\{"ids":\{"length":[1-8]\}\}\},\{"depth":2,"tokens":\{"ids":\{"length":[1-8]\}\}\}/,
      );
    },
    LONGEST_MS,
  );

  async function ask(query: string): Promise<unknown> {
    await mkdir(join(folder, 'asked'), { recursive: true });
    const said = await execute(`import json, espalier_rl as er
db = er.connect()
db.catch_up(120)
print(json.dumps(db.query(${JSON.stringify(query)})))`);
    return JSON.parse(said);
  }
});

/** Every call of the recording client, as its guide has them. */
const EVERY_CALL = `import asyncio, struct, zlib
import espalier_rl as er

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\\0\\xff\\0\\0")) + chunk(b"IEND", b"")
db = er.connect()
with db.run("every call", policy="qwen@3") as run:
    for task in ["What is 2 times 3?", "What is 3 times 3?"]:
        for episode in run.group(task, n=2):
            step = episode.step("six", "Right.", reward=1.0, prompt_ids=[1, 2, 3], ids=[4, 5], logprobs=[-0.1, -0.2], images=[png], tools=[{"name": "look", "arguments": {}, "output": "a six"}])
            episode.finish(success=True)
    episode = run.episode("to branch")
    step = episode.step("one", done=False)
    episode.step("two")
    other = episode.branch(step)
    other.step("another")
    other.finish(success=False)
    episode.finish(success=True)

    @run.rollout(group=2)
    def solve(episode, task):
        episode.step("sync")
        return True

    @run.rollout(group=2)
    async def think(episode, task):
        episode.step("async")
        return True

    solve("a function")
    asyncio.run(think("a coroutine"))
    tree = run.tree("a search")
    node, *_ = tree.expand([{"response": "node", "observation": "seen"}])
    tree.backup(node, 0.5)
    tree.close()
`;
