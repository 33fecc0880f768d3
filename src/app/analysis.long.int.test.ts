import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pack } from '../events/packed.ts';
import { childEnvironment } from '../runtime/config.ts';
import { SILENT } from '../runtime/logger.ts';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { givenEvents } from '../testing/given-events.ts';
import { LOCAL_TOKEN } from '../testing/local-token.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { analysisForTests } from '../testing/python.ts';
import { serveApi } from './serve-api.ts';

const found = await analysisForTests();
const python = found.kind === 'found' ? found.python : '';
let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let server: Awaited<ReturnType<typeof serveApi>>;
const builder = new EventBuilder('analysed');
const run = builder.run('analysed');
const tree = builder.tree(run, 'planks');
const walks = [builder.walk(tree, 0, 3, 1), builder.walk(tree, 1, 2, 0)];
const tokens = { ids: pack('int32', [7, 8]), logProbs: pack('float32', [-0.5, -2]), mask: null };
const sampled = builder.step(tree, null, tree.rootStepId, 1, { tokens });

beforeAll(async () => {
  if (found.kind === 'none') return;
  platform = await openTestPlatform();
  await givenEvents(platform.database.db, builder.events);
  server = await serveApi(platform, SILENT);
});
afterAll(async () => {
  await server?.close();
  await platform?.close();
});

/** Runs a script of Python over the server; returns what it printed. @throws Error with what it said. */
async function runPython(script: string): Promise<string> {
  const env = childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, ESPALIER_URL: server.url, ESPALIER_TOKEN: LOCAL_TOKEN });
  return new Promise((resolve, reject) => {
    execFile(python, ['-c', script], { env, timeout: 240_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stderr}`));
      else resolve(stdout);
    });
  });
}

(found.kind === 'found' ? describe : describe.skip)(
  `analysis in Python (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    test('tables, views and the tail of a run show what is on record', async () => {
      const ids = JSON.stringify({ run, tree: tree.treeId, sampled, a: walks[0]?.rolloutId, b: walks[1]?.rolloutId });
      const said = await runPython(`
import asyncio, json
import espalier_rl as er
ids = json.loads('''${ids}''')
db = er.connect()
frame = db.trajectories(run=ids["run"]).polars().sort("ordinal")
steps = db.steps(run=ids["run"]).arrow()
tokens = steps.filter([each == ids["sampled"] for each in steps["step_id"].to_pylist()])["token_ids"].to_pylist()
difference = db.difference(ids["a"], ids["b"])
async def first():
    async for event in db.run_tail(ids["run"], after="", types=["RolloutFinished"]):
        return event.type, event.run_id == ids["run"]
print(json.dumps({
    "rollouts": frame["rollout_id"].to_list(), "returns": frame["return"].to_list(), "steps": steps.num_rows, "tokens": tokens,
    "rewards": sorted(db.rewards(run=ids["run"]).arrow()["value"].to_pylist()), "batches": db.batches().arrow().num_rows,
    "tree": len(db.tree(ids["tree"]).steps), "heat": db.step(ids["sampled"]).token_ids, "parts": difference.first,
    "html": all("<script" not in view._repr_html_() for view in (db.tree(ids["tree"]), db.step(ids["sampled"]), difference)),
    "tail": asyncio.run(first()), "query": db.query("{ runs { totalCount } }")["runs"]["totalCount"],
}))
`);
      expect(JSON.parse(said)).toEqual({
        rollouts: walks.map(({ rolloutId }) => rolloutId),
        returns: [1, 0],
        steps: 7,
        tokens: [[7, 8]],
        rewards: [0, 1],
        batches: 0,
        tree: 7,
        heat: [7, 8],
        parts: 3,
        html: true,
        tail: ['RolloutFinished', true],
        query: 1,
      });
    });
  },
);
