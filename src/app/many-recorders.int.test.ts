import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { LOCAL } from '../testing/local-token.ts';
import { recordersForTests } from '../testing/python.ts';
import { until } from '../testing/until.ts';
import { useInstallation } from './use-installation-testing.ts';

const found = await recordersForTests();
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const installation = useInstallation();

/** A model server in the program that asks it. */
const MODEL = `import json, logging, threading, httpx, espalier_rl as er
from http.server import BaseHTTPRequestHandler, HTTPServer
logging.disable()
class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        message = {"role": "assistant", "content": "said"}
        body = json.dumps({"id": "0190f2a4-7c1e-7b3a-9d55-3f6c2b1a0e9f", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200); self.send_header("content-type", "application/json"); self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
model = HTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
def ask():
    return httpx.post(f"http://127.0.0.1:{model.server_port}/v1/chat/completions", json={"model": "m", "messages": [{"role": "user", "content": "q"}]}).json()
`;

async function python(...args: readonly string[]) {
  const env = {
    ...process.env,
    ESPALIER_HOME: installation.platform.home,
    ESPALIER_URL: installation.url,
    ESPALIER_SPOOL: join(installation.platform.home, 'spool'),
    PYTHONPATH: join(ROOT, 'python'),
  };
  const child = spawn(found.kind === 'found' ? found.python : 'python3', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, code };
}

interface Asked {
  readonly runs: {
    readonly nodes: readonly {
      readonly name: string;
      readonly outcome: string | null;
      readonly totals: { readonly trees: number; readonly rollouts: number; readonly steps: number };
      readonly recorders: readonly { readonly name: string; readonly leftAt: string | null; readonly outcome: string | null }[];
      readonly trees: {
        readonly nodes: readonly {
          readonly closedAt: string | null;
          readonly plannedRollouts: number;
          readonly rollouts: readonly { readonly ordinal: number; readonly outcome: string; readonly finishedAt: string }[];
          readonly steps: readonly { readonly response: string }[];
        }[];
      };
    }[];
  };
}

async function ask(): Promise<Asked> {
  const query = `{ runs(first: 20) { nodes { name outcome totals { trees rollouts steps } recorders { name leftAt outcome }
    trees(first: 60) { nodes { closedAt plannedRollouts rollouts { ordinal outcome finishedAt } steps(first: 40) { response } } } } } }`;
  const response = await fetch(`${installation.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = (await response.json()) as { data: Asked; errors?: unknown };
  expect(errors).toBeUndefined();
  return data;
}

(found.kind === 'found' ? describe : describe.skip)('a run that several processes record', () => {
  test('sixteen of which one is killed, one frozen and one a day behind lose nothing and double nothing, and the run ends when all have left', async () => {
    const { stdout, stderr, code } = await python(join(ROOT, 'src/testing/record-from-many.py'));
    expect({ stdout, stderr, code }).toEqual({ stdout: 'recorded\n', stderr: '', code: 0 });
    const groups = ({ runs }: Asked) =>
      runs.nodes.flatMap(({ trees }) => trees.nodes).filter(({ plannedRollouts }) => plannedRollouts > 1);
    await until(async () => (await ask()).runs.nodes.every(({ outcome }) => outcome !== null));
    await until(async () => groups(await ask()).every(({ closedAt }) => closedAt !== null));
    const { nodes } = (await ask()).runs;

    const many = nodes.find(({ name }) => name === 'many');
    const said = many?.trees.nodes.flatMap(({ steps }) => steps.map(({ response }) => response).filter((each) => each !== ''));
    const expected = Array.from({ length: 16 }, (_, i) => {
      const episodes = i === 3 ? 2 : 3;
      const members = i === 3 ? 1 : 2;
      const alone = Array.from({ length: episodes }, (_, e) => [0, 1, 2, 3].map((s) => `${i} ${e} ${s}`)).flat();
      return [...Array<string>(members).fill(`member ${i}`), ...alone];
    }).flat();
    expect([...(said ?? [])].sort()).toEqual(expected.sort());
    expect(many?.recorders).toHaveLength(16);
    expect(new Set(many?.recorders.map(({ name }) => name)).size).toBe(16);
    expect(many?.recorders.map(({ outcome }) => outcome).sort()).toEqual([...Array(15).fill('completed'), 'failed']);
    expect(many?.outcome).toBe('completed');
    const group = many?.trees.nodes.find(({ plannedRollouts }) => plannedRollouts === 16);
    expect(group?.rollouts.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 16 }, (_, i) => i));
    expect(group?.rollouts.filter(({ outcome }) => outcome !== 'terminated').map(({ ordinal }) => ordinal)).toEqual([3]);
    for (const { finishedAt } of group?.rollouts ?? []) expect(finishedAt <= (group?.closedAt ?? '')).toBe(true);

    const handles = nodes.find(({ name }) => name === 'handles');
    expect(handles).toMatchObject({ outcome: 'completed', totals: { trees: 2, rollouts: 5, steps: 6 } });
    expect(handles?.recorders.map(({ outcome }) => outcome)).toEqual(Array(4).fill('completed'));
  }, 120_000);

  test('what the run is begun with is one fact: the same again is a repetition, and another seed is refused by its name', async () => {
    const script = `import espalier_rl as er
with er.run("fact", key="fact", policy="q@1", config={"a": 1}) as first:
    first.episode("t").step("a")
    with er.run("fact", key="fact", policy="q@1", config={"a": 1}) as second:
        second.episode("t").step("b")
    for field, other in (("seed", {"seed": 3}), ("config", {"config": {}}), ("policy", {"policy": "q@2"}), ("name", {"name": "other"}), ("environment", {"environment": "w"}), ("code_version", {"code_version": "v2"})):
        try:
            er.run(**{"name": "fact", "key": "fact", "policy": "q@1", "config": {"a": 1}, **other})
        except er.EspalierError as error:
            print(error.field == field and error.code)
    first_one = er.run("named", key="named", recorder="rank 0")
    try:
        er.run("named", key="named", recorder="rank 0")
    except er.EspalierError as error:
        print(error.field, error.code)
    taken = er.run("named", key="named", recorder="rank 0", take_over=True)
    taken.end("cancelled", "tested")`;
    const { stdout, stderr, code } = await python('-c', script);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout).toBe(`${'conflict\n'.repeat(6)}recorder in-use\n`);
    const { nodes } = (await ask()).runs;
    expect(nodes.find(({ name }) => name === 'named')?.outcome).toBe('cancelled');
    expect(nodes.find(({ name }) => name === 'fact')?.trees.nodes).toHaveLength(2);
  }, 60_000);

  test('feedback of a program, by the ids that its client returned, is in force when the call returns', async () => {
    const script = `import espalier_rl as er
with er.run("judged", policy="q@1") as run, run.episode("t") as episode:
    step = episode.step("a")
db = er.connect()
print(len(db.feedback([step, episode], 0.5, component="quality", by="judge:qwen@3", comment="fine")))
db.feedback(step, 0.25, component="quality")
print([(row["value"], row["scorer"]["name"]) for row in db.query("query ($id: ID!) { step(id: $id) { rewards { value scorer { name } } } }", {"id": step.id})["step"]["rewards"]])
try:
    db.feedback(step, 1, by="anna")
except er.EspalierError as error:
    print(error)`;
    const { stdout, stderr, code } = await python('-c', script);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    expect(stdout).toMatch(/^2\n\[\(0\.25, 'person:\w+'\)\]\ngiveFeedback: by is .*; give person:NAME/);
  }, 60_000);

  test('feedback is given to captured rollouts and replies by their ids, also where a model server names replies by UUIDs', async () => {
    const script = `${MODEL}
er.autolog(run="captured")
with er.rollout("task", id="7") as rollout:
    answer = ask()
er.flush()
with er.connect() as db:
    db.catch_up()
    db.feedback([rollout, answer["id"]], 0.5, component="quality")
    db.catch_up()
    rewards = db.query("query ($id: ID!) { rollout(id: $id) { rewards { value } trajectory { rewards { value stepId } } } }", {"id": rollout.id})["rollout"]
print([each["value"] for each in rewards["rewards"]], sorted((each["value"], each["stepId"] is None) for each in rewards["trajectory"]["rewards"]))`;
    const { stdout, stderr, code } = await python('-c', script);
    expect({ stdout, stderr, code }).toEqual({ stdout: '[0.5] [(0.5, False), (0.5, True)]\n', stderr: '', code: 0 });
  }, 60_000);

  test('a process without a name that comes when the first has completed records trees of its own', async () => {
    const script = `import espalier_rl as er
for rank in range(2):
    with er.run("late", key="late", policy="q@1") as run, run.episode("t") as episode:
        episode.step(str(rank), done=True)`;
    const { stderr, code } = await python('-c', script);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    await until(async () => (await ask()).runs.nodes.find(({ name }) => name === 'late')?.outcome === 'completed');
    const run = (await ask()).runs.nodes.find(({ name }) => name === 'late');
    expect(run?.totals).toMatchObject({ trees: 2, rollouts: 2 });
  }, 60_000);

  test('recorders that are started again under their names go on with what they left', async () => {
    const script = (rest: string) => `import sys, espalier_rl as er
for rank in range(2):
    run = er.run("again", key="again", policy="q@1", recorder=f"rank {rank}")
    for episode in run.group("t", 4):
        episode.step(f"{rank} {episode.ordinal}", done=True)
        episode.finish()
        ${rest}
    run.close()`;
    const first = await python('-c', script('if episode.ordinal == 1: run.close("failed", "killed"); break'));
    expect([first.code, first.stderr]).toEqual([0, '']);
    const again = await python('-c', script('pass'));
    expect([again.code, again.stderr]).toEqual([0, '']);
    await until(async () => (await ask()).runs.nodes.find(({ name }) => name === 'again')?.outcome === 'completed');
    const run = (await ask()).runs.nodes.find(({ name }) => name === 'again');
    const said = run?.trees.nodes.flatMap(({ steps }) => steps.map(({ response }) => response)).filter((each) => each !== '');
    expect(said?.sort()).toEqual([0, 1].flatMap((rank) => [0, 1, 2, 3].map((i) => `${rank} ${i}`)));
    expect(run?.trees.nodes).toHaveLength(2);
  }, 60_000);

  test('a process that continues what a killed one left ends no members of their group that others record', async () => {
    const script = `import os, signal, espalier_rl as er
def begin(i):
    run = er.run("left", key="left", policy="q@1")
    member = run.group("t", 3, id="g").member(i)
    member.step(f"{i} first")
    run.flush()
    return run, member
def end(run, member):
    member.step("last", done=True)
    member.finish()
    run.close()
begun, goes_on = os.pipe(), os.pipe()
first = os.fork()
if first == 0:
    begin(0)
    os.write(begun[1], b"0")
    signal.pause()
os.read(begun[0], 1)
other = os.fork()
if other == 0:
    run, member = begin(1)
    os.write(begun[1], b"1")
    os.read(goes_on[0], 1)
    end(run, member)
    os._exit(0)
os.read(begun[0], 1)
os.kill(first, signal.SIGKILL)
os.waitpid(first, 0)
run, member = begin(2)
assert run.recorder == "", "it continues what the killed one left"
os.write(goes_on[1], b"1")
assert os.waitpid(other, 0)[1] == 0
end(run, member)`;
    const { stderr, code } = await python('-c', script);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  }, 60_000);

  test('a shared group of which a machine is lost for good is closed by its id, and so is the run', async () => {
    const lost = `import os, espalier_rl as er
run = er.connect(spool=os.environ["ESPALIER_SPOOL"] + "-of-a-lost-machine").run("lost", key="lost", policy="q@1")
group = run.group("t", 2, id="uid")
with group.member(0) as episode:
    episode.step("a", done=True)
group.member(1).step("b", done=False)
run.flush()
print(run.id, group.tree_id, flush=True)
os._exit(9)`;
    const { stdout } = await python('-c', lost);
    const [run = '', tree = ''] = stdout.trim().split(' ');
    const end = (...names: readonly string[]) =>
      python('-c', 'import sys, espalier_rl as er\ner.end_run(*sys.argv[1:], outcome="completed", rollouts="failed")', ...names);
    expect(await end(run, tree)).toEqual({ stdout: '', stderr: '', code: 0 });
    const recorded = async () => (await ask()).runs.nodes.find(({ name }) => name === 'lost');
    await until(async () => (await recorded())?.trees.nodes[0]?.closedAt !== null);
    expect((await recorded())?.outcome).toBeNull();
    expect((await recorded())?.trees.nodes[0]?.rollouts.map(({ outcome }) => outcome)).toEqual(['terminated', 'failed']);
    expect(await end(run)).toEqual({ stdout: '', stderr: '', code: 0 });
    await until(async () => (await recorded())?.outcome === 'completed');
  }, 60_000);

  test('a run whose server was away is on record with its calls, and ended behind them, when its spools are sent', async () => {
    const away = `${MODEL}try:
    with er.connect("http://127.0.0.1:9") as db, db.run("away", wait_s=0.1) as run:
        er.autolog(run=run)
        with er.rollout("task"):
            ask()
        run.episode("other").step("a", done=True)
except er.Unreachable:
    er.autolog(False)`;
    const { stderr, code } = await python('-c', away);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const sent = await python('-m', 'espalier_rl', 'spool', 'send', '--url', installation.url);
    expect({ ...sent, stdout: sent.stdout.split('\n', 1)[0] }).toEqual({ stdout: '2 of 2 spools are sent', stderr: '', code: 0 });
    const run = async () => (await ask()).runs.nodes.find(({ name }) => name === 'away');
    await until(async () => (await run())?.outcome === 'completed');
    expect((await run())?.trees.nodes.map(({ steps }) => steps.at(-1)?.response).sort()).toEqual(['a', 'said']);
  }, 60_000);
});
