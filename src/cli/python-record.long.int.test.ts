import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { readConfig } from '../runtime/config.ts';
import { freePort } from '../runtime/free-port.ts';
import { until } from '../testing/until.ts';
import { killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { consumersPython, python } = readConfig();
const interpreter = consumersPython ?? python ?? 'python3';

let home: string;
let port: number;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-recorded-'));
  port = await freePort();
});
afterEach(async () => {
  await killRunning();
  await (await startEmbeddedPostgres({ folder: join(home, 'postgres') })).close(); // waits until the server of `up` has stopped
  await rm(home, { recursive: true, force: true });
});

async function startServer() {
  const env = { ESPALIER_HOME: home, ESPALIER_PORT: String(port), ESPALIER_LOG_LEVEL: 'error' };
  const up = startProcess('src/cli/main.ts', ['up'], env);
  await until(async () => up.stdout().includes('GraphQL'));
  return up;
}

/** Starts a Python program that records, with its output. */
function record(script: string) {
  const env = {
    ...process.env,
    ESPALIER_HOME: home,
    ESPALIER_URL: `http://127.0.0.1:${port}`,
    ESPALIER_SPOOL: join(home, 'spool'),
    PYTHONPATH: 'python',
  };
  const child = spawn(interpreter, ['-c', script], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | string | null>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
  return { child, said: Promise.all([text(child.stdout), text(child.stderr), ended]) };
}

async function ask(query: string): Promise<string> {
  const [stdout, stderr, code] = await record(
    `import json, espalier_rl as er; c = er.connect().connection
c.graphql('query ($p: String!) { waitFor(position: $p, timeoutMs: 60000) { query { position } } }', {'p': c.graphql('{ position }')['position']})
print(json.dumps(c.graphql(${JSON.stringify(query)})))`,
  ).said;
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

describe('a program that records by the Python client', () => {
  test('a step of megabytes is on record whole, whether in a text, a picture or tokens, and so is what is recorded behind it', async () => {
    await startServer();
    const script = `import os, struct, zlib, espalier_rl as er
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + os.urandom(2_700) for _ in range(900))
picture = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 900, 900, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
with er.connect().run("long", policy="q@1", wait_s=120) as run:
    episode = run.episode("t")
    episode.step("text", "y" * 2_200_000)
    episode.step("longer", "y" * 11_000_000)
    episode.step("ideographs", "\u6f22" * 200_000)
    episode.step("picture", images=[picture])
    episode.step("tokens", ids=[7] * 400_000, logprobs=[-0.5] * 400_000)
    episode.step("behind")
    episode.finish(success=True)`;
    const [, stderr, code] = await record(script).said;
    expect([code, stderr]).toEqual([0, '']);
    const asked = `{ runs { nodes { outcome trees { nodes { steps(first: 9) {
      response largeTexts { field size } tokens { ids { length } } pictures { width height } } } } } } }`;
    const none = { largeTexts: [], tokens: null, pictures: [] };
    const long = (size: number) => ({ ...none, largeTexts: [{ field: 'observation', size }] });
    const steps = [
      { ...none, response: '' }, // the root
      { ...long(2_200_000), response: 'text' },
      { ...long(11_000_000), response: 'longer' },
      { ...long(600_000), response: 'ideographs' },
      { ...none, response: 'picture', pictures: [{ width: 900, height: 900 }] },
      { ...none, response: 'tokens', tokens: { ids: { length: 400_000 } } },
      { ...none, response: 'behind' },
    ];
    expect(await ask(asked)).toEqual({ runs: { nodes: [{ outcome: 'completed', trees: { nodes: [{ steps }] } }] } });
  });

  test('an episode whose messages call tools, answer them and reason is exported by openai and trl as it was given', async () => {
    await startServer();
    const call = (id: string, given: string) => ({ id, type: 'function', function: { name: 'look', arguments: given } });
    const opening = [
      { role: 'system', content: 'Look.' },
      { role: 'user', content: 'Where?' },
    ];
    const calls = {
      role: 'assistant',
      content: 'I look twice.',
      reasoning_content: 'Hm.',
      tool_calls: [call('c1', '{"at": 12345678901234567890}'), call('c2', '{}')],
    };
    const results = [
      { role: 'tool', content: 'here', tool_call_id: 'c1', name: 'look' },
      { role: 'tool', content: 'there', tool_call_id: 'c2' },
    ];
    const last = { role: 'assistant', content: 'Here and there.' };
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const given = JSON.stringify(JSON.stringify({ opening, calls, results, last, tools }));
    const script = `import json, espalier_rl as er
given = json.loads(${given})
with er.connect().run("tools", policy="q@1", wait_s=60) as run:
    episode = run.episode("t")
    episode.step(given["calls"], "here there", prompt=given["opening"], tool_schemas=given["tools"])
    episode.step(given["last"], prompt=[*given["opening"], given["calls"], *given["results"]], tool_schemas=given["tools"], reward=1.0)
    episode.finish(success=True)`;
    const [, stderr, code] = await record(script).said;
    expect([code, stderr]).toEqual([0, '']);
    expect(await ask('{ runs { nodes { outcome } } }')).toEqual({ runs: { nodes: [{ outcome: 'completed' }] } });
    const exported = async (format: string) => {
      const to = join(home, `${format}.jsonl`);
      await runInProcess(['export', '--format', format, '--out', to], { ESPALIER_HOME: home });
      return readFile(to, 'utf8');
    };
    const openai = JSON.parse(await exported('openai'));
    expect(openai.messages).toEqual([...opening, calls, ...results, last]);
    expect(openai.tools).toEqual(tools);
    const trl = await exported('trl');
    expect(trl).toContain('"arguments":{"at": 12345678901234567890}');
    const asValue = ({ function: { name, arguments: text }, ...more }: ReturnType<typeof call>) => ({
      ...more,
      function: { name, arguments: JSON.parse(text) },
    });
    const called = { ...calls, tool_calls: calls.tool_calls.map(asValue) };
    const rows = trl.trimEnd().split('\n');
    expect(rows.map((row) => JSON.parse(row))).toMatchObject([
      { prompt: opening, completion: [called], tools: JSON.stringify(tools) },
      { prompt: [...opening, called, ...results], completion: [last], tools: JSON.stringify(tools) },
    ]);
  });

  test('what the client takes the server takes: odd values of every argument are refused by the client with field and remedy, or are on record', async () => {
    await startServer();
    const [stdout, stderr, code] = await record('from tests.odd_values import main; main()').said;
    expect([code, stderr]).toEqual([0, '']);
    const { taken, faults } = JSON.parse(stdout) as { taken: number; faults: readonly string[] };
    expect(faults).toEqual([]);
    expect(taken).toBeGreaterThan(500);
  }, 400_000);

  test('a key that is revoked while it records is named with the remedy, and what was recorded then is on record once by another', async () => {
    await startServer();
    const keys = (...args: readonly string[]) => runInProcess(['keys', ...args], { ESPALIER_HOME: home });
    const made = JSON.parse((await keys('create', '--name', 'trainer', '--scopes', 'ingest,read', '--json')).stdout);
    const program = record(`import json, os, time, espalier_rl as er
run = er.connect(token=${JSON.stringify(made.key)}).run("revoked", policy="p@0", wait_s=20)
episode = run.episode("t")
episode.step("before", done=False)
run.flush()
print("recorded", flush=True)
while not os.path.exists(os.path.join(os.environ["ESPALIER_HOME"], "revoked")): time.sleep(0.05)
for after in range(1000): # a server remembers a good key for five seconds
    episode.step(f"after {after}", done=False)
    try:
        run.flush(30)
    except er.EspalierError as error:
        print(json.dumps([error.field, error.status, str(error), after]), flush=True)
        break
    time.sleep(0.2)
os._exit(0)`);
    await new Promise<void>((resolve) => {
      program.child.stdout.once('data', () => resolve());
    });
    expect((await keys('revoke', made.keyId)).code).toBe(0);
    await writeFile(join(home, 'revoked'), '');
    const [stdout, stderr, code] = await program.said;
    expect([code, stderr]).toEqual([0, '']);
    const [field, status, message, last] = JSON.parse(stdout.split('\n')[1] ?? '[]') as [string, number, string, number];
    expect([field, status]).toEqual(['token', 401]);
    expect(message).toMatch(/revoked.*what was recorded is kept in .*sends it again/);
    const [, why, again] = await record('import espalier_rl as er; er.connect().wait_for_spools(60)').said;
    expect([again, why]).toEqual([0, '']);
    await until(async () => JSON.stringify(await ask('{ runs { nodes { outcome } } }')).includes('completed'));
    const steps = JSON.stringify(
      await ask('{ runs(first: 5) { nodes { trees(first: 5) { nodes { steps(first: 100) { response } } } } } }'),
    );
    const responses = ['before', ...Array.from({ length: last + 1 }, (_, i) => `after ${i}`)];
    for (const response of responses) expect(steps.split(`"response":"${response}"`)).toHaveLength(2);
  });

  test('a server that is away for a minute is waited for: the program goes on without an exception, and each step is on record once', async () => {
    const server = await startServer();
    const program = record(`import time, espalier_rl as er
with er.connect().run("minute", policy="p@1", wait_s=200) as run:
    for episode in run.group("t", n=140):
        episode.step(f"step {episode.ordinal}", "ok", reward=1.0)
        episode.finish(success=True)
        print(episode.ordinal, flush=True)
        time.sleep(0.5)`);
    await new Promise<void>((resolve) => {
      program.child.stdout.once('data', () => resolve());
    });
    server.kill('SIGKILL');
    await server.ended;
    await new Promise((resolve) => setTimeout(resolve, 60_000)); // the minute of the rule
    expect(program.child.exitCode).toBeNull();
    await startServer();
    const [stdout, stderr, code] = await program.said;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n')).toHaveLength(140);
    const asked =
      '{ runs(first: 2) { nodes { outcome totals { rollouts terminated } trees(first: 2) { nodes { steps(first: 200) { response } } } } } }';
    const said = JSON.stringify(await ask(asked));
    expect(said).toContain('"outcome":"completed","totals":{"rollouts":140,"terminated":140}');
    for (let i = 0; i < 140; i++) expect(said.split(`"response":"step ${i}"`)).toHaveLength(2);
  }, 400_000);

  test('what it acknowledged is on record once where program and server are killed in the middle', async () => {
    const script = `import espalier_rl as er
run = er.connect().run("killed", policy="p@1", key="one")
for task in ("a", "b"):
    for episode in run.group(task, n=150):
        episode.step(f"{task} {episode.ordinal}", "ok", reward=1.0, done=True)
        episode.finish(success=True)
        print(task, episode.ordinal, flush=True)
run.close()`;
    const server = await startServer();
    const program = record(script);
    const first = new Promise<void>((resolve) => {
      program.child.stdout.once('data', () => resolve());
    });
    await first;
    server.kill('SIGKILL');
    await server.ended;
    program.child.kill('SIGKILL');
    const [acknowledged, , signal] = await program.said;
    expect(signal).toBe('SIGKILL');
    await startServer();
    const [, stderr, code] = await record(script).said; // goes on with the run by its key
    expect([code, stderr]).toEqual([0, '']);
    const lines = acknowledged.split('\n').filter((line) => /^[ab] \d+$/.test(line));
    expect(lines.length).toBeGreaterThan(0);
    const steps = JSON.stringify(
      await ask(
        '{ runs { nodes { outcome totals { terminated } trees { nodes { size { steps } rollouts { outcome leaf { response } } } } } } }',
      ),
    );
    for (const line of lines) expect(steps.split(`"response":"${line}"`)).toHaveLength(2);
    expect(steps).toContain('"outcome":"completed","totals":{"terminated":300}');
  });
});
