import { readFactor } from '../domain/compression/factor-reward.ts';
import { parseThoughtAction } from '../domain/prompts/parse-thought-action.ts';
import { projectResponse } from '../domain/prompts/project-response.ts';
import { cutBlocks } from '../domain/prompts/same-message.ts';
import { fitJudgeLog } from '../domain/revision/judge-prompt.ts';
import { cutLogAsPublished } from '../domain/revision/published-rows.ts';
import { beginThought, keepsForm } from '../domain/revision/splice.ts';
import { parseVerdict, parseVerdictAsPublished } from '../domain/revision/verdict.ts';
import { boxedContent, sameAnswer } from '../domain/reward/math-answer.ts';
import { SCORERS } from '../domain/reward/scorers.ts';
import { cleanPublishedObservation, readPublishedReply } from '../domain/search/published-prompt.ts';
import { parsePythonFloat } from '../domain/text/python-strip.ts';
import { parseHermesCalls, parseNousCalls, parseRetoolCode, parseSeedCall } from '../domain/tools/parse-calls.ts';
import { readPythonJson } from '../domain/tools/read-python-json.ts';
import { clientAction } from '../environments/agentgym/client-action.ts';
import { DESCRIPTORS } from '../environments/agentgym/descriptors.ts';
import { parseResponse as parseOfServer } from '../environments/agentgym/parse-response.ts';
import { snapAction } from '../environments/agentgym/snap-action.ts';
import { parseReact } from '../environments/parse-react.ts';
import { pythonRepr } from '../environments/python-text.ts';
import { indexWordsOf, queryWordsOf } from '../environments/retrieval/local-retriever.ts';
import { readAnswer } from '../environments/retrieval/retrieve-protocol.ts';
import { createLexicon } from '../environments/search-qa/list-candidates.ts';
import { frameResult, parseResponse as parseSearch, readAction } from '../environments/search-qa/search-qa.ts';
import { calculator } from '../environments/tools/calculator.ts';
import { decode } from '../events/codec.ts';
import { wellFormed } from '../events/well-formed.ts';
import { mediaOf, parseBody } from '../http/ingest/parse-body.ts';
import { refuseForeignPage } from '../http/loopback.ts';
import { actionOf, goalOf, listedIn } from '../http/policy/read-reply.ts';
import { splitSegments, toCells } from '../images/prepare-text.ts';
import { renderSpec } from '../images/render-profiles.ts';
import { wrapText } from '../images/wrap-text.ts';
import { parsePosition } from '../log/position.ts';
import { createEvidence } from '../policies/linear/recipe-demand.ts';
import { stateFeatures } from '../policies/linear/state-features.ts';
import { wordsOf } from '../policies/linear/words.ts';
import { parseCompletion } from '../policies/openai/completion.ts';
import { refusalOf } from '../policies/openai/post-json.ts';
import { parsePolicyText } from '../policies/policy-spec.ts';
import { escapeControls, escapeMessage } from '../runtime/escape-controls.ts';
import { retryAfterMs } from '../runtime/retry-after.ts';
import { secretInUrl } from '../runtime/secret-in-url.ts';
import { parsePolicyFilter, parseTrajectoryQuery } from '../usecases/datasets/export/parse-trajectory-query.ts';
import { parseAgentTrajItem } from '../usecases/datasets/import/agent-traj-item.ts';

type Reader = (text: string) => unknown;

const LIMITS = { compression: true };
const SPEC = renderSpec('crisp');
const LEXICON = createLexicon(['Ada Lovelace', 'Ada', 'a', 'London Bridge']);
const CALCULATOR = calculator();
const WORLD = { validActions: ['look around', 'open door to kitchen', 'focus on agent'], look: 'a b', inventory: 'c' };
const situation = (text: string) => ({ goal: text, firstObservation: text, history: [{ action: text, observation: text }] });
const utf8 = (text: string) => Buffer.from(text);
/** The arguments of a call as a value of JSON, as a model may write them. */
const quoted = (text: string) => JSON.stringify(text);

/** Returns two halves of characters: all of them read as U+FFFD twice. */
const halves = (i: number) => String.fromCharCode(0xd800 + (i & 0x3ff), 0xd800 + ((i >> 10) & 0x3ff));

/** What a model, an environment or a tool wrote. */
const OF_MODELS: Readonly<Record<string, Reader>> = {
  'a command of TextCraft': parseThoughtAction,
  'a command without its factor': (text) => projectResponse('textcraft', text, LIMITS),
  'an action of ALFWorld': (text) => projectResponse('alfworld', text, LIMITS),
  'a search or answer': (text) => projectResponse('search-qa', text, LIMITS),
  'a compression factor': (text) => readFactor(`<compression>${text}</compression>`),
  'a search with labels': parseSearch,
  'an action of Search': (text) => [readAction(text), readAction(`<search>${text}</search>`)],
  'a line for a server': (text) => parseOfServer('line', text),
  'a tag for a server': (text) => parseOfServer('tag', text),
  'a reply as published clients read it': (text) =>
    (['segment', 'textcraft', 'babyai', 'raw'] as const).map((family) => [
      clientAction(family, '2025-03', text),
      clientAction(family, '2025-09', text),
    ]),
  'a reply of ReAct': parseReact,
  'a reply of the published search': (text) => [readPublishedReply(text, 'webshop'), cleanPublishedObservation(text)],
  'an action that is snapped to a valid one': (text) => snapAction(text, { ...WORLD, look: text, validActions: [text] }, [text]),
  'a reply that a reflection begins': (text) => [beginThought('r', text), keepsForm('thought', text), keepsForm('turn', text)],
  'a verdict': parseVerdict,
  'a verdict as published': parseVerdictAsPublished,
  "a judge's log": (text) => [
    cutLogAsPublished(text, 100),
    fitJudgeLog(
      text,
      Array.from({ length: 3 }, () => ({ stepId: 's', response: text, action: text, observation: text })) as never,
      2,
      9,
    ),
  ],
  'calls of tools in their Hermes form': (text) => parseHermesCalls(`<tool_call>${text}</tool_call>`),
  'calls of tools of the profile nous': parseNousCalls,
  'a call of a tool of the profile seed': (text) => [parseSeedCall(text), parseSeedCall(`<tool_call>${text}</tool_call>`)],
  'arguments of a call': (text) => [
    parseHermesCalls(`<tool_call>{"name": "a", "arguments": ${quoted(text)}}</tool_call>`),
    parseHermesCalls(`<tool_call>{"name": "a", "arguments": {${text}"z": 0}}</tool_call>`),
  ],
  'arguments with names that are repeated behind floats': (text) => {
    const times = text.length / 10;
    parseHermesCalls(
      `<tool_call>{"name": "a", "arguments": {"f": [${'1.5,'.repeat(times)}0], ${'"a":0,'.repeat(times)}"z": 0}}</tool_call>`,
    );
  },
  'arguments with floats below a long name': (text) => {
    const name = quoted(text.slice(0, text.length / 2));
    parseHermesCalls(`<tool_call>{"name": "a", "arguments": {${name}: [${'1.5,'.repeat(text.length / 8)}0]}}</tool_call>`);
  },
  'JSON as Python reads it': readPythonJson,
  'a list of JSON as Python reads it': (text) => readPythonJson(`[${text}0]`),
  'code of ReTool': (text) => [parseRetoolCode(text), parseRetoolCode(`<code>\n${text}\n</code>`)],
  'an expression of the calculator': (text) => [
    CALCULATOR.execute({ expression: text }, {} as never),
    CALCULATOR.reward?.({ expression: text }, '{}'),
  ],
  'a boxed answer': (text) => [boxedContent(text), boxedContent(`\\boxed{${text}}`)],
  'an answer that is compared': (text) => [sameAnswer(text, '(1,2)'), sameAnswer('1', text)],
  'a number as Python reads it': parsePythonFloat,
  'a text as Python writes it': (text) => [pythonRepr(text), frameResult(text)],
  ...Object.fromEntries(
    SCORERS.map(({ name, revision, score }) => [
      `what ${name}@${revision} scores`,
      (text: string) =>
        score({
          responses: [text, text],
          chat: `<|im_start|>assistant\n${text}<|im_end|>`,
          answer: text,
          golds: ['1', 'a b'],
          question: text,
          dataSource: text,
          groundTruth: '1',
          success: true,
          environmentScore: 1,
          invalidActions: 0,
        }),
    ]),
  ),
  ...Object.fromEntries(
    Object.values(DESCRIPTORS).map(({ name, goal, refusal }) => [
      `the goal of ${name}`,
      (text: string) => [
        goal.exec(`Instruction: Your task is to: Question: ${text}`),
        ...['Instruction: ', 'Your task is to: ', 'Question: ', 'Goal: ', "Let's start "].map((label) => goal.exec(label + text)),
        refusal.test(text),
      ],
    ]),
  ),
  'names in a document': (text) => LEXICON.namesIn(text),
  'words of a document': (text) => [indexWordsOf(text), queryWordsOf(text)],
  'words of a linear policy': (text) => wordsOf(text),
  'features of a situation': (text) => stateFeatures(situation(text), [text, 'craft 1 a using 1 b', `get ${text}`]),
  'evidence for an answer': (text) => createEvidence(situation(`<information>${text}`))(`<answer>${text}</answer>`),
  'segments of an image': (text) => splitSegments(text, SPEC).map((segment) => wrapText(toCells(segment, SPEC).text, 80)),
  'blocks of a prompt': cutBlocks,
  'text that is made well-formed': (text) => wellFormed({ [text]: text }),
  'keys that are made well-formed': (text) =>
    wellFormed(Object.fromEntries(Array.from({ length: text.length / 8 }, (_, i) => [halves(i) + text.slice(0, 8), 0]))),
  'text for a terminal': (text) => [escapeControls(text), escapeMessage(text)],
};

/** What a server that is asked answered. */
const OF_SERVERS: Readonly<Record<string, Reader>> = {
  'a chat completion': (text) => [
    parseCompletion(text),
    parseCompletion(JSON.stringify({ choices: [{ message: { content: null, reasoning: text } }] })),
  ],
  'a refusal of a model server': (text) => [
    refusalOf(400, text, text),
    refusalOf(400, JSON.stringify({ error: { message: text } }), 'http://a'),
  ],
  'an answer of a retrieval server': (text) => readAnswer(text, 1, 3),
  'a date to try again at': (text) => retryAfterMs(() => text, 0),
};

/** What a client sent, or a person typed. */
const OF_CLIENTS: Readonly<Record<string, Reader>> = {
  'a body of events': (text) => [parseBody(utf8(text), 'json', 10_000), parseBody(utf8(text), 'ndjson', 10_000)],
  'a list of events': (text) => parseBody(utf8(`[${text}0]`), 'json', 10_000),
  'a record of the log': (text) => [decode(utf8(text)), decode(utf8(JSON.stringify({ type: text, data: { [text]: text } })))],
  'the type of a body': (text) => mediaOf({ 'content-type': `application/json;${text}` }),
  'the headers of a request': (text) => refuseForeignPage('GET', { host: text, origin: text }),
  'an action in a chat': actionOf,
  'a goal in a chat': goalOf,
  'actions listed in a chat': (text) => [listedIn(text), listedIn(`What you can do now: ['a'\n${text}`)],
  'a position': (text) => parsePosition(text),
  'the name of a policy': (text) => parsePolicyText(`planner:${text}`),
  'a policy of a model server': (text) => parsePolicyText(`openai:${text}`),
  'the address of a server': (text) => secretInUrl(`http://${text}`),
  'a filter of an export': (text) => parseTrajectoryQuery({ returnMin: text }),
  'a filter by policy': parsePolicyFilter,
  'an item of AgentTraj': (text) =>
    parseAgentTrajItem({ item_id: text, conversations: [{ from: 'human', loss: null, value: text }] }, null),
};

/** Every reader of text whose length and content others choose, by what it reads. What it refuses, it refuses in time as well. */
export const TEXT_READERS: Readonly<Record<string, Reader>> = Object.fromEntries(
  Object.entries({ ...OF_MODELS, ...OF_SERVERS, ...OF_CLIENTS }).map(([name, read]) => [name, refusing(read)]),
);

function refusing(read: Reader): Reader {
  return (text) => {
    try {
      return read(text);
    } catch {
      return undefined;
    }
  };
}

/** Pieces that mean something to one reader or another; again and again, they take it back most often. */
export const PIECES: readonly string[] = [
  ...[
    '`',
    '"',
    "*'",
    ' ',
    '\t',
    '\n',
    ' \n',
    '\r\n',
    '0',
    '1,',
    '.',
    '-',
    '+',
    '(',
    '[',
    ']',
    '{',
    '}',
    '\\',
    '/',
    '@',
    ':',
    ';',
    '=',
    '?',
    '%',
  ],
  ...[
    '[[',
    '{"a":',
    '{"a":1.5,',
    '"a":1,',
    '"a":1.5,',
    '[1.5],',
    '1.5,',
    '"\\ud800":0,',
    '\\"',
    '&',
    '-- ',
    '^',
    '^ ',
    '! ',
    '$',
  ],
  ...[
    '<think>',
    '</think>',
    '<search>',
    '</search>',
    '<answer>',
    '</answer>',
    '<action>',
    '<code>\n',
    '</code>\n',
    '<tool_call>',
    '<tool_call>{',
  ],
  ...['</tool_call>', '<|im_start|>assistant\n', '<|im_end|>', '<information>', '<compression>', '</compression>'],
  ...[
    'Action:',
    'Action: \n',
    'Action 1:',
    'Thought: a\nAction: ',
    'Thought:',
    'Observation:',
    'Judgement: ',
    'Judgment ',
    '<Good>',
    'Instruction: ',
  ],
  ...[
    '\\boxed{',
    '\\boxed{ ',
    '\\frac',
    '\\frac1',
    '\\sqrt',
    '\\text{',
    '\\text{ ',
    '\\begin{array}',
    '\\left(',
    ',\\! ',
    '1,111',
    '1 ',
    'degrees ^',
    'cm^',
  ],
  ...[
    '#### 1',
    'Question: ',
    'a b. ',
    '\nYour task is to: ',
    'Goal: craft ',
    'Goal:\n',
    'What you can do now: [',
    "'a',\n",
    'Doc 1: ',
    'craft 1 a using 1 b, ',
  ],
  ...[
    'Ada ',
    'a ',
    'the ',
    'İ',
    'ﬁ',
    '漢',
    'ก',
    '\u0301',
    '\ud800',
    '\u{1f333}',
    '\x1b[2J',
    'trees.0:1,',
    'x@1',
    '_1',
    'file:///',
    'AVAILABLE ACTIONS: ',
  ],
];
