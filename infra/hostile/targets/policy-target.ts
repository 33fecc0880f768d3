import fc from 'fast-check';
import { type Change, change, changed, damage, damaged, hostileText, RAW_TEXTS, raw, TEXTS, write } from '../hostile-values.ts';
import { outcomeOf, request } from '../request.ts';
import { Broken, target } from '../target.ts';

const LIST = "What you can do now: ['look'\n 'go north']";
const CHAT = {
  model: 'random',
  n: 1,
  seed: 7,
  temperature: 1,
  top_p: 1,
  logprobs: true,
  return_token_ids: true,
  stream: false,
  messages: [
    { role: 'system', content: 'Play.' },
    { role: 'user', content: 'Goal: craft a stick.\nYou see a tree.' },
    { role: 'assistant', content: 'Thought: hm\nAction: look' },
    { role: 'user', content: [{ type: 'text', text: `You see more.\n${LIST}` }] },
  ],
  admissible_actions: ['look', 'go north'],
};

const MANY = 300_000;
/**
 * Texts on which patterns run for ever: marks that open and never close, blanks without end, lists that end just before their
 * bracket.
 */
const PATTERNS: readonly string[] = [
  `What you can do now: [${"'".repeat(64)}`,
  `What you can do now: [${"'a' ".repeat(5_000)}`,
  `What you can do now: [${"'a'\n".repeat(20_000)}`,
  `What you can do now: ['a'${' \n'.repeat(20_000)}`,
  `What you can do now: ['${' '.repeat(20_000)}']`,
  'What you can do now: ['.repeat(8_000),
  '\n'.repeat(MANY),
  ' \n'.repeat(MANY),
  'Goal:'.repeat(60_000),
  `Goal:${' '.repeat(MANY)}`,
  '<action>'.repeat(40_000),
  'Action:'.repeat(40_000),
  `\nAction:${' '.repeat(MANY)}x\n`,
];
const inMessage = (at: number, content: string) => ({
  ...CHAT,
  admissible_actions: null,
  messages: CHAT.messages.map((message, i) => (i === at ? { ...message, content } : message)),
});

/** The policy server, `POST /v1/chat/completions`, in the form of OpenAI's. */
export const policyTarget = target<Buffer>({
  name: 'policy server',
  always: [
    ...PATTERNS.flatMap((text) => [1, 2, 3].map((at) => Buffer.from(write(inMessage(at, text))))),
    ...RAW_TEXTS.flatMap((text) => [
      Buffer.from(text),
      Buffer.from(write({ ...CHAT, messages: raw(text) })),
      Buffer.from(write({ ...CHAT, seed: raw(text) })),
    ]),
    ...TEXTS.map((text) => Buffer.from(write({ ...CHAT, admissible_actions: [text, text] }))),
    Buffer.from(write({ ...CHAT, n: 128, admissible_actions: Array.from({ length: 10_000 }, (_, i) => `go ${i}`) })),
  ],
  cases: fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .array(change, { minLength: 1, maxLength: 3 })
        .map((changes: readonly Change[]) => Buffer.from(write(changes.reduce<unknown>(changed, CHAT)))),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(1, 2, 3), hostileText, hostileText)
        .map(([at, a, b]) => Buffer.from(write(inMessage(at, `${a}What you can do now: [${b}]`)))),
    },
    { weight: 2, arbitrary: damage.map((harm) => damaged(Buffer.from(write(CHAT)), harm)) },
  ),
  way: {
    process: 'policy',
    async send(stage, body) {
      const answered = await request(`${stage.url.policy}/v1/chat/completions`, {
        method: 'POST',
        body,
        type: 'application/json',
      });
      const outcome = outcomeOf(answered);
      if (outcome.kind === 'accepted' && !Array.isArray(answered.json?.choices))
        throw new Broken(`answered no choices: ${answered.text.slice(0, 200)}`);
      return outcome;
    },
  },
});
