import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { createKey } from '../../postgres/keys.ts';
import { childEnvironment } from '../../runtime/config.ts';
import { PYTHON_PACKAGE } from '../../runtime/python-server.ts';
import { agentsForTests, pythonForTests } from '../../testing/python.ts';
import { startTransformersServe } from '../../testing/transformers-server.ts';
import { serveModel } from '../../training/backends/torch/serve-model.ts';
import { openTestProxy, type TestProxy } from './proxy-testing.ts';

const run = promisify(execFile);
const torch = await pythonForTests();
const agents = await agentsForTests();
const found = torch.kind === 'found' && agents.kind === 'found' ? { torch: torch.python, agents: agents.python } : null;
const LONGEST_MS = 300_000;
const EXAMPLES = join(PYTHON_PACKAGE, '..', 'examples');
// each text that the ids of a recorded step stand for, by the tokenizer of the model
/** A model of random weights may write NUL, which is repaired on append. */
const asRecorded = (text: string) => text.replaceAll('\0', '\ufffd');
const DECODE = `import json, sys; from transformers import AutoTokenizer; t = AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps([t.decode(ids, skip_special_tokens=True) for ids in json.loads(sys.argv[2])]))`;

(found ? describe : describe.skip)(
  `agents that are captured without a change to them: ${found ? 'found' : 'skipped, a Python is missing'}`,
  () => {
    const python = found ?? { torch: '', agents: '' };
    let folder: string;
    let proxy: TestProxy;
    let url: string;
    let token: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'espalier-agents-'));
      await run(python.torch, ['-m', 'espalier_rl.trainer.tiny', '--out', join(folder, 'tiny')], { cwd: PYTHON_PACKAGE });
      proxy = await openTestProxy();
      url = await proxy.restart();
      token = (await createKey(proxy.api.database.db, { name: 'agents', scopes: ['ingest'] })).key;
    }, LONGEST_MS);
    afterAll(async () => {
      await proxy.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** Runs an example, which asks the model server itself. */
    async function example(file: string, model: string, server: string): Promise<string> {
      const asked = { OPENAI_BASE_URL: server, ESPALIER_SPOOL: join(folder, 'spool') };
      const env = childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, ESPALIER_URL: url, ESPALIER_TOKEN: token, ...asked });
      return (await run(python.agents, [join(EXAMPLES, file), model], { env, timeout: LONGEST_MS })).stdout;
    }

    /** The recorded path of a run, and what the next prompt showed of each reply. */
    async function pathOf(name: string) {
      const { runs, trees, steps, prompts, rollouts, quarantined } = await proxy.recorded();
      const runId = runs.find((each) => each.name === name)?.runId;
      const treeId = trees.find((tree) => tree.runId === runId)?.treeId;
      const path = steps.filter((step) => step.treeId === treeId && step.depth > 0 && step.rolloutId !== null);
      const shown = path.slice(1).map(({ stepId }) => prompts.get(stepId)?.messages.findLast(({ role }) => role === 'assistant'));
      return { path, shown, prompts, rollout: rollouts.find((rollout) => rollout.treeId === treeId), quarantined };
    }

    test(
      'the token ids of the steps that LangGraph and the Agents SDK took decode to what they saw',
      async () => {
        const server = await serveModel({ python: python.torch, folder, checkpoint: 'tiny', name: 'tiny' });
        try {
          const seen = [
            await example('capture_langgraph.py', 'tiny', server.url),
            await example('capture_openai_agents.py', 'tiny', server.url),
          ];
          for (const [i, name] of ['langgraph', 'openai-agents'].entries()) {
            const { path, shown, prompts, rollout, quarantined } = await pathOf(name);
            expect(quarantined).toEqual([]);
            expect([path.length, rollout?.outcome, rollout?.success]).toEqual([
              2,
              'terminated',
              name === 'langgraph' ? true : null,
            ]);
            const ids = path.map(({ tokens }) => unpack((tokens as unknown as { ids: Packed }).ids));
            const decoded = (
              JSON.parse(
                (await run(python.torch, ['-c', DECODE, join(folder, 'tiny'), JSON.stringify(ids)])).stdout,
              ) as readonly string[]
            ).map(asRecorded);
            expect(decoded).toEqual(path.map(({ response }) => response));
            for (const message of shown)
              expect(decoded).toContain(message?.parts.map((part) => ('text' in part ? part.text : '')).join(''));
            expect(asRecorded(seen[i] ?? '').trim()).toBe(decoded.at(-1)?.trim());
            expect(path.every(({ stepId }) => (prompts.get(stepId)?.tokenIds?.length ?? 0) > 0)).toBe(true);
            expect(path.every(({ tokens }) => (tokens as unknown as { logProbs: Packed }).logProbs.length > 0)).toBe(true);
          }
        } finally {
          await server.close();
        }
      },
      LONGEST_MS,
    );

    test(
      'LangGraph and the Agents SDK are recorded before `transformers serve` as well, which returns no token ids',
      async () => {
        const server = await startTransformersServe(python.torch);
        try {
          const key = (await createKey(proxy.api.database.db, { name: 'other', scopes: ['ingest'], projects: ['other'] })).key;
          token = key;
          const before = new Set((await proxy.recorded()).runs.map(({ runId }) => runId));
          const seen = [
            await example('capture_langgraph.py', join(folder, 'tiny'), `${server.url}/v1`),
            await example('capture_openai_agents.py', join(folder, 'tiny'), `${server.url}/v1`),
          ];
          const { runs, trees, steps, calls, rollouts, quarantined } = await proxy.recorded();
          expect(quarantined).toEqual([]);
          for (const [i, name] of ['langgraph', 'openai-agents'].entries()) {
            const runId = runs.find((each) => each.name === name && !before.has(each.runId))?.runId;
            const { treeId } = trees.find((tree) => tree.runId === runId) ?? { treeId: '' };
            const replies = calls.filter((call) => call.treeId === treeId);
            expect(replies.map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
            const own = steps.filter((step) => step.treeId === treeId);
            const saw = asRecorded(seen[i] ?? '').replace(/\n$/, '');
            expect(own.map(({ depth }) => depth)).toEqual([0, 1, 2]);
            expect(own.at(-1)).toMatchObject({ response: saw, termination: 'terminated' });
            expect(rollouts.find((rollout) => rollout.treeId === treeId)?.outcome).toBe('terminated');
            expect(own.every((step) => step.tokens === null)).toBe(true);
          }
        } finally {
          server.close();
        }
      },
      LONGEST_MS,
    );
  },
);
