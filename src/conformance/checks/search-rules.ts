import { z } from 'zod';
import type { ChatMessage } from '../../domain/history/prompt.ts';
import { createPythonRandom } from '../../domain/random/python-random.ts';
import { bestChild, bestPositions, EXPLORATION, uctScore } from '../../domain/search/best-child.ts';
import { readPublishedReply, trimAsPublished } from '../../domain/search/published-prompt.ts';
import { applySearchFacts, type SearchFact } from '../../domain/search/search-facts.ts';
import { type SearchState, searchPath, startSearch } from '../../domain/search/search-tree.ts';
import { type ClientRevision, clientAction } from '../../environments/agentgym/client-action.ts';
import { parseReact } from '../../environments/parse-react.ts';
import { judgeClose, judgeEqual, skipped, type VectorCheck } from '../vector-check.ts';

const node = z.object({ visits: z.number(), value: z.number(), terminal: z.boolean() });
const shape = z.object({ steps: z.array(z.object({ leaf: z.string(), reward: z.number(), after: z.record(z.string(), node) })) });

/** The tree that the file describes in words: root → (a → (a1, a2), b → (b1, b2)), where b2 ends only when it is backed up. */
const BUILT: readonly SearchFact[] = [
  ...family('root', ['a', 'none'], ['b', 'none']),
  ...family('a', ['a1', 'terminated'], ['a2', 'terminated']),
  ...family('b', ['b1', 'terminated'], ['b2', 'none']),
];

/** Judges `03_backprop`: visits, value sums and ends along the path of each back-up. */
export const backUpCheck: VectorCheck = {
  fileName: /^03_backprop.*\.json$/,
  *judge({ json }) {
    let state: SearchState = applySearchFacts(startSearch('root'), BUILT);
    for (const { leaf, reward, after } of shape.parse(json).steps) {
      const path = searchPath(state, leaf);
      state = applySearchFacts(state, [{ kind: 'backed-up', simulation: 0, leafStepId: leaf, value: reward, path }]);
      const actual = [...state.nodes.values()].map((n) => [
        n.stepId,
        { visits: n.visits, value: n.valueSum, terminal: n.terminal },
      ]);
      yield judgeEqual(`${leaf} with ${reward}`, Object.fromEntries(actual), after);
    }
  },
};

function family(
  parentStepId: string,
  ...children: readonly (readonly [stepId: string, end: 'none' | 'terminated'])[]
): SearchFact[] {
  const added = children.map(([stepId, end], ordinal): SearchFact => {
    return { kind: 'child-added', simulation: 0, stepId, parentStepId, ordinal, score: 0, end, equivalentTo: null };
  });
  return [...added, { kind: 'node-expanded', simulation: 0, stepId: parentStepId }];
}

const child = z.object({ value: z.number(), visits: z.number(), terminal: z.boolean() });
const bestChildShape = z.object({
  cases: z.array(
    z.object({
      parentVisits: z.number(),
      children: z.array(child),
      candidatePool: z.array(z.number()).nullable(),
      returnsNull: z.boolean(),
      parentTerminalAfter: z.boolean(),
    }),
  ),
});

/** Judges `02_best_child`: which children a choice is drawn from, and that none is left where the parent becomes terminal. */
export const bestChildCheck: VectorCheck = {
  fileName: /^02_best_child.*\.json$/,
  *judge({ json }) {
    for (const [i, { parentVisits, children: given, candidatePool, ...expected }] of bestChildShape.parse(json).cases.entries()) {
      const children = given.map(({ value, ...rest }) => ({ ...rest, valueSum: value }));
      const parent = { stepId: 'parent', visits: parentVisits, valueSum: 0 };
      const tieBreak = { kind: 'drawn', draw: () => 0 } as const; // as the spy that made the file
      const chosen = bestChild(parent, children, { exploration: EXPLORATION, tieBreak, simulation: 0 });
      yield judgeEqual(
        `case ${i + 1}`,
        {
          pool: bestPositions(parentVisits, children, EXPLORATION, 0),
          chosen,
          returnsNull: chosen === null,
          parentTerminalAfter: chosen === null,
        },
        { pool: candidatePool ?? [], chosen: candidatePool?.[0] ?? null, ...expected },
      );
    }
  },
};

const uctShape = z.object({
  coef: z.number(),
  cases: z.array(z.object({ value: z.number(), visits: z.number(), parentVisits: z.number().nullish(), uct: z.number() })),
});

/** Judges `01_uct`: the score of a node. A root has no parent: its `parentVisits` is null or left out. */
export const uctCheck: VectorCheck = {
  fileName: /^01_uct.*\.json$/,
  *judge({ json }) {
    const { coef, cases } = uctShape.parse(json);
    for (const { value, visits, parentVisits, uct } of cases) {
      yield judgeClose(
        `${value}/${visits} below ${parentVisits ?? 'no parent'}`,
        uctScore({ visits, valueSum: value }, parentVisits ?? null, coef),
        uct,
      );
    }
  },
};

const clientActionShape = z.object({
  cases: z.array(
    z.object({
      client: z.enum(['textcraft', 'babyai']),
      revision: z.string(),
      input: z.string(),
      posted: z.array(z.string()),
      stateIfNotPosted: z.string().nullable(),
    }),
  ),
});

/** Judges `15_client_action_normalisation`: what each published AgentGym client posts for a text, or answers itself. */
export const clientActionCheck: VectorCheck = {
  fileName: /^15_client_action_normalisation.*\.json$/,
  *judge({ json }) {
    for (const { client, revision, input, posted, stateIfNotPosted } of clientActionShape.parse(json).cases) {
      const did = clientAction(client, revisionOf(revision), input);
      yield judgeEqual(
        `${client} ${revisionOf(revision)} ${JSON.stringify(input)}`,
        did.kind === 'post' ? { posted: [did.action], answer: null } : { posted: [], answer: did.observation },
        { posted, answer: stateIfNotPosted },
      );
    }
  },
};

function revisionOf(text: string): ClientRevision {
  if (text.startsWith('2025-03')) return '2025-03';
  if (text.startsWith('HEAD')) return '2025-09';
  throw new Error(`no client of revision ${JSON.stringify(text)} is known`);
}

const snapActionShape = z.object({ cases: z.array(z.object({ prediction: z.string() })) });

/**
 * Skips `13_sciworld_action_match`, case by case: the published code walks a Python set ordered by length alone, so what it picks
 * among candidates of equal length changes with the hash seed, and the file does not hold the room that its stub described.
 */
export const snapActionCheck: VectorCheck = {
  fileName: /^13_sciworld_action_match.*\.json$/,
  *judge({ json }) {
    for (const { prediction } of snapActionShape.parse(json).cases) {
      yield skipped(
        JSON.stringify(prediction),
        'examples of a choice that depends on the order of a Python set; ours is ordered by length and code point (environments/agentgym/snap-action.ts)',
      );
    }
  },
};

const texts = z.array(z.string());
const contextTruncationShape = z.object({ messageLimit: z.int(), prompts: z.array(texts), storedStateOfDeepestNode: texts });

/**
 * Judges `10_context_truncation`: the prompts that were sent on the way down, where a token is a message and the system text is
 * none.
 */
export const contextTruncationCheck: VectorCheck = {
  fileName: /^10_context_truncation.*\.json$/,
  *judge({ json }) {
    const { messageLimit, prompts, storedStateOfDeepestNode: stored } = contextTruncationShape.parse(json);
    const whole = stored.map(
      (content, i): ChatMessage => ({ role: i === 0 ? 'system' : i % 2 === 1 ? 'user' : 'assistant', content }),
    );
    for (const [depth, expected] of prompts.entries()) {
      const trimmed = trimAsPublished(whole.slice(0, 4 + 2 * depth), messageLimit, (messages) => messages.length - 1);
      const actual = trimmed.kind === 'fits' ? trimmed.messages.map(({ content }) => content) : trimmed;
      yield judgeEqual(`prompt at depth ${depth}`, actual, expected);
    }
  },
};

const publishedReplyShape = z.object({
  cases: z.array(
    z.object({
      task: z.string(),
      response: z.string(),
      action: z.string(),
      nodeLlmResponse: z.string(),
      conversationTurn: z.string(),
      envReceived: z.tuple([z.string()]),
    }),
  ),
});

/** Judges `08_action_parse`: what the published search executes, stores and shows of a reply. */
export const publishedReplyCheck: VectorCheck = {
  fileName: /^08_action_parse.*\.json$/,
  *judge({ json }) {
    for (const { task, response, ...expected } of publishedReplyShape.parse(json).cases) {
      const reply = readPublishedReply(response, task === 'webshop' ? 'webshop' : 'other');
      yield judgeEqual(
        `${task}: ${JSON.stringify(response)}`,
        { action: reply.action, nodeLlmResponse: reply.response, conversationTurn: reply.turn, envReceived: [reply.action] },
        expected,
      );
    }
  },
};

const parseReactShape = z.object({ cases: z.array(z.object({ input: z.string(), thought: z.string(), action: z.string() })) });

/** Judges `16_parse_react`: responses split into thought and action as AgentGym's clients do. */
export const parseReactCheck: VectorCheck = {
  fileName: /^16_parse_react.*\.json$/,
  *judge({ json }) {
    for (const { input, thought, action } of parseReactShape.parse(json).cases) {
      yield judgeEqual(JSON.stringify(input), parseReact(input), { thought, action });
    }
  },
};

const integers = z.array(z.int());
const pythonRandomShape = z.object({
  shuffle: z.array(z.object({ n: z.int(), seed: z.int(), shuffled: integers, nextRandint0to9: integers })),
  choiceSeed7: z.array(z.tuple([z.int(), z.int()])),
});

/** Judges `04_python_rng`: CPython's shuffle, the randints that follow it in the stream, and a stream of choices. */
export const pythonRandomCheck: VectorCheck = {
  fileName: /^04_python_rng.*\.json$/,
  *judge({ json }) {
    const { shuffle, choiceSeed7 } = pythonRandomShape.parse(json);
    for (const { n, seed, ...expected } of shuffle) {
      const stream = createPythonRandom(seed);
      const shuffled = stream.shuffle(Array.from({ length: n }, (_, i) => i));
      yield judgeEqual(
        `shuffle of ${n}`,
        { shuffled, nextRandint0to9: expected.nextRandint0to9.map(() => stream.randint(0, 9)) },
        expected,
      );
    }
    const stream = createPythonRandom(7);
    const chosen = choiceSeed7.map(([n]) => [n, stream.choice(Array.from({ length: n }, (_, i) => i))]);
    yield judgeEqual('choices of seed 7', chosen, choiceSeed7);
  },
};

/** Skips `14_*`: the exceptions that the published program dies of. They document its defects; there is no value to reproduce. */
export const publishedExceptionsCheck: VectorCheck = {
  fileName: /^14_.*\.json$/,
  *judge({ name }) {
    yield skipped(
      name,
      'documents exceptions of the published program (thresholds compared as texts, …), which ours does not raise',
    );
  },
};
