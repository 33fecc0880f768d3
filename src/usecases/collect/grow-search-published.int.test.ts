import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Tie } from '../../domain/search/best-child.ts';
import type { Environment, EnvironmentKind } from '../../environments/environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { ActRequest, Policy } from '../../policies/policy.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { collectRun } from './collect-run.ts';
import { treeIdOf } from './collect-tree.ts';
import type { Overrides } from './growing-tree.ts';
import type { CollectPlan } from './plan.ts';
import { nothingRecorded } from './recorded-run.ts';

interface ReportedNode {
  readonly [field: string]: unknown;
  readonly children: readonly ReportedNode[];
}
const reportedNode: z.ZodType<ReportedNode> = z
  .object({
    action: z.string(),
    llm: z.string(),
    obs: z.string(),
    depth: z.int(),
    visits: z.int(),
    value: z.number(),
    disaster: z.boolean(),
    get children() {
      return z.array(reportedNode);
    },
  })
  .strip();
const recorded = z.object({
  cases: z.array(
    z.object({
      name: z.string(),
      module: z.string(),
      config: z.object({ maxDepth: z.int(), iterations: z.int(), nGen: z.int() }),
      script: z.record(z.string(), z.array(z.string())),
      target: z.array(z.string()),
      partialRewards: z.record(z.string(), z.number()),
      tieBreaks: z.array(z.object({ pool: z.array(z.string()), pick: z.int() })),
      llmCalls: z.int(),
      tree: reportedNode,
    }),
  ),
});
type Case = z.infer<typeof recorded>['cases'][number];

let platform: Platform;
let projector: Subscription;
let cases: readonly Case[];
beforeAll(async () => {
  cases = recorded.parse(await vector('09_mcts_search')).cases;
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

async function vector(name: string): Promise<unknown> {
  const path = fileURLToPath(new URL(`../../domain/search/fixtures/${name}.json`, import.meta.url));
  return JSON.parse(await readFile(path, 'utf8'));
}

type World = Pick<Case, 'target' | 'partialRewards' | 'module' | 'tree'>;
const ENDLESS: World = { target: ['nope'], partialRewards: {}, module: '', tree: { children: [] } };

/**
 * The fake environment of the vectors (`envRule`). SciWorld's counts to 100, as the real one does, and snaps to what its tree
 * knows.
 */
function scripted({ target, partialRewards, module, tree }: World): EnvironmentKind {
  const sciworld = module.includes('sciworld');
  const scale = sciworld ? 100 : 1;
  const known = new Set(actionsOf(tree));
  const snap = (action: string) =>
    sciworld && !known.has(action) ? ([...known].find((other) => other.includes('open door')) ?? action) : action;
  const create = (before: readonly string[]): Environment => {
    let actions = before;
    return {
      reset: async () => {
        actions = [];
        const unknown = { depth: null, split: null, admissibleActions: null, stateHash: null };
        return { instruction: 'INSTRUCTION', observation: 'o0', goal: 'start', ...unknown };
      },
      step: async (action) => {
        const last = snap(action);
        actions = [...actions, last];
        const tail = actions.slice(-target.length);
        const won = tail.length === target.length && tail.every((each, i) => each === target[i]);
        const raw = last === 'boom' ? -100 : won ? 1 : (partialRewards[last] ?? 0);
        return {
          observation: `seen ${actions.join('/')}\n\ttab`,
          reward: { value: Math.max(raw, 0) / scale, raw, scale, kind: 'final' },
          terminated: won || last === 'boom',
          truncated: false,
          ...(last === action ? {} : { executed: last }),
          success: won ? true : null,
          executable: true,
          admissibleActions: null,
          stateHash: null,
        };
      },
      parse: (response) => ({ thought: '', action: response, wellFormatted: true }),
      clone: async () => create(actions),
      close: async () => undefined,
    };
  };
  return {
    name: sciworld ? 'sciworld' : module === 'webshop' ? 'webshop' : 'scripted',
    fingerprint: 'x',
    taskAliases: ['0'],
    create: async () => create([]),
    close: async () => undefined,
  };
}

function actionsOf({ action, children }: ReportedNode): string[] {
  return [String(action), ...children.flatMap(actionsOf)];
}

/** Replies as scripted: the k-th call at a depth takes the k-th of that depth, round and round. */
function scriptedPolicy({ script }: Pick<Case, 'script'>): Policy & { readonly asked: ActRequest[] } {
  const calls = new Map<number, number>();
  const asked: ActRequest[] = [];
  return {
    asked,
    ref: { policyId: 'scripted', version: 0 },
    act: async (request) => {
      asked.push(request);
      const depth = request.history.length;
      const replies = script[depth] ?? script['*'] ?? [];
      return Array.from({ length: request.n }, () => {
        const call = calls.get(depth) ?? 0;
        calls.set(depth, call + 1);
        return { response: replies[call % replies.length] ?? '', tokens: null, usage: null, finishReason: null };
      });
    },
    close: async () => undefined,
  };
}

async function search(
  kind: EnvironmentKind,
  policy: Policy,
  sizes: Pick<NonNullable<CollectPlan['search']>, 'iterations' | 'candidates' | 'maxDepth'>,
  maxTokenLength: number | null,
  overrides: Overrides,
): Promise<string> {
  const runId = newId();
  const rewardScale = kind.name === 'sciworld' ? 100 : 1;
  const plan: CollectPlan = {
    environment: 'textcraft',
    tasks: [{ alias: '0', rollouts: 1, branching: 'root' }],
    taskSeed: 0,
    policy: 'random',
    temperature: 1,
    maxSteps: 30,
    search: { ...sizes, exploration: 0.25, compat: { system: 'agent-r', maxTokenLength, rewardScale } },
  };
  const appender = appenderAs('collector', platform);
  await collectRun({
    runId,
    name: 'published',
    seed: 1,
    plan,
    codeVersion: 'test',
    kind,
    policy,
    appender,
    recorded: nothingRecorded,
    concurrency: 1,
    clock: Date.now,
    signal: new AbortController().signal,
    overrides,
  });
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  return treeIdOf(runId, { alias: '0', rollouts: 1, branching: 'root' }, 0);
}

/** Reads a tree back from the read models, as the vectors show one. */
async function recordedTree(treeId: string, scale: number): Promise<ReportedNode> {
  const { rows } = await platform.database.pool.query<{
    id: string;
    parent: string | null;
    depth: number;
    response: string;
    action: string;
    observation: string;
    visits: number | null;
    value: number | null;
    end: string | null;
  }>(
    `select s.step_id as id, s.parent_step_id as parent, s.depth, response, action, observation, n.visits, n.value_sum as value,
            (select e.body::jsonb #>> '{data,end}' from events e
             where e.stream = s.tree_id and e.type = 'NodeAdded' and e.body::jsonb #>> '{data,stepId}' = s.step_id::text) as end
     from steps s left join node_statistics n using (tree_id, step_id) where s.tree_id = $1 order by s.depth, s.log_offset`,
    [treeId],
  );
  const below = (parent: string | null): ReportedNode[] =>
    rows
      .filter((row) => row.parent === parent)
      .map((row) => ({
        action: row.parent === null ? 'ROOT' : row.action,
        llm: row.parent === null ? 'ROOT' : row.response,
        obs: row.parent === null ? '' : row.observation,
        depth: row.depth,
        visits: Number(row.visits ?? 0),
        value: Number((Number(row.value ?? 0) * scale).toFixed(9)),
        disaster: row.end === 'disaster',
        children: below(row.id),
      }));
  const [root] = below(null);
  if (!root) throw new Error(`tree ${treeId} has no root`);
  return root;
}

describe('searches by the rules of the published program', () => {
  test('the search reaches the trees of the published program: every node, reply, observation, visit and value, tie by tie', async () => {
    expect(cases.length).toBeGreaterThan(0);
    for (const each of cases) {
      const ties: Tie[] = [];
      const drawTie = (tie: Tie) => {
        ties.push(tie);
        return each.tieBreaks[ties.length - 1]?.pick ?? -1; // which the search refuses
      };
      const { maxDepth, iterations, nGen } = each.config;
      const policy = scriptedPolicy(each);
      const treeId = await search(scripted(each), policy, { maxDepth, iterations, candidates: nGen }, null, { drawTie });
      const scale = each.module.includes('sciworld') ? 100 : 1;
      const tree = await recordedTree(treeId, scale);
      expect({ name: each.name, tree }).toEqual({ name: each.name, tree: each.tree });
      expect(ties.map(({ pool }) => pool.length)).toEqual(each.tieBreaks.map(({ pool }) => pool.length));
      expect(policy.asked.reduce((calls, { n }) => calls + n, 0)).toBe(each.llmCalls);
    }
  });

  test('the search sends the published prompts, with the first reply next to a later observation, and records what was stored', async () => {
    const shape = z.object({
      messageLimit: z.int(),
      prompts: z.array(z.array(z.string())),
      storedStateOfDeepestNode: z.array(z.string()),
    });
    const { messageLimit, prompts, storedStateOfDeepestNode } = shape.parse(await vector('10_context_truncation'));
    const script = Object.fromEntries(prompts.map((_, depth) => [depth, [`Thought: t\nAction: a${depth + 1}`]]));
    const policy = scriptedPolicy({ script });
    const treeId = await search(
      scripted(ENDLESS),
      policy,
      { maxDepth: prompts.length - 1, iterations: 1, candidates: 1 },
      messageLimit + 60,
      { countTokens: (messages) => messages.length - 1 }, // a token is a message, and the system text is none
    );
    const sent = policy.asked.map(({ messages }) => messages?.slice(1).map(({ content }) => content));
    expect(sent).toEqual(prompts.map((contents) => contents.slice(1)));
    const path = [];
    for (let [node] = (await recordedTree(treeId, 1)).children; node; [node] = node.children) path.push(node.llm, node.obs);
    expect(path).toEqual(storedStateOfDeepestNode.slice(4));
  });

  test('the search executes and records the same part of a reply', async () => {
    const one = z.object({ task: z.string(), response: z.string(), action: z.string(), conversationTurn: z.string() });
    const replies = z.object({ cases: z.array(one) }).parse(await vector('08_action_parse')).cases;
    for (const task of ['webshop', 'textcraft']) {
      const of = replies.filter((reply) => reply.task === task);
      expect(of.length).toBeGreaterThan(0);
      const policy = scriptedPolicy({ script: { '*': of.map(({ response }) => response) } });
      const kind = scripted({ ...ENDLESS, module: task });
      const treeId = await search(kind, policy, { maxDepth: 0, iterations: 1, candidates: of.length }, null, {});
      const { children } = await recordedTree(treeId, 1);
      expect(children.map(({ llm, action }) => ({ llm, action }))).toEqual(
        of.map(({ conversationTurn, action }) => ({ llm: conversationTurn, action })),
      );
    }
  });

  test('a trim that would loop in the published program ends the node, not the run', async () => {
    const script = { '*': ['Thought: t\nAction: a'] };
    const policy = scriptedPolicy({ script });
    const kind = scripted(ENDLESS);
    const treeId = await search(kind, policy, { maxDepth: 3, iterations: 2, candidates: 1 }, 61, {});
    expect(policy.asked).toEqual([]);
    const { rows } = await platform.database.pool.query<{ reason: string }>(
      `select body::jsonb #>> '{data,reason}' as reason from events where stream = $1 and type = 'NodeExpanded'`,
      [treeId],
    );
    expect(rows).toEqual([{ reason: 'what is never cut of the prompt is longer than 1 tokens' }]);
  });
});
