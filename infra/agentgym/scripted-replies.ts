import { createRandom } from '../../src/domain/random/random.ts';
import { seedFrom } from '../../src/domain/random/seed-from.ts';
import type { ChatRequest } from '../../src/testing/openai-server.ts';
import { textCraftAgent } from '../../src/testing/textcraft-agent.ts';

export const STYLES = ['tidy', 'untidy'] as const;
export type Style = (typeof STYLES)[number];

/** How often each choice of the stand-in is drawn, of eight: the step that the goal needs, a look, and what it has already. */
const CHOICES = [0, 0, 0, 0, 1, 2, 2, 3] as const;

/**
 * Returns the replies of a model that plays TextCraft and judges steps: drawn from the seed and what it was shown, so that
 * whoever asks the same gets the same. Whoever is shown anything else, in one character, soon grows another tree.
 */
export function scriptedReplies(style: Style, seed: number): (request: ChatRequest, choice: number) => string {
  return ({ messages }, choice) => {
    const question = judgedPart(messages.at(-1)?.content ?? '');
    if (question !== null) return verdict(style, createRandom(seedFrom('verdict', seed, question)));
    const [system, , ...rest] = messages; // between them the instruction, which each program has in words of its own
    const shown = [system, ...rest].map((message) => `${message?.role}: ${message?.content}`);
    const random = createRandom(seedFrom('reply', seed, choice, ...shown));
    const reply = textCraftAgent({ messages: readable(messages) }, random.choice(CHOICES));
    const [thought = '', action = ''] = reply.split('\nAction: ');
    const said = random.int(2) === 0 ? thought : `${thought} Let me see.`;
    return style === 'tidy' ? `${said}\nAction: ${action}` : untidy(random.int(FORMS.length), said, action);
  };
}

/**
 * Returns what a question to a judge says of the task and the log, which the published program and ours put into other sentences;
 * null where the messages are none.
 */
function judgedPart(content: string): string | null {
  const log = /\nLog:\n(Task Description: .*\nCurrent_Observation: .*?)\n\n(?:You must give reasons|First give your reasons)/s;
  return log.exec(content)?.[1]?.replace('\n\nCurrent_Action:', '\nCurrent_Action:') ?? null; // no earlier step, an empty line
}

/** The conversation as the stand-in reads it, with actions that were written in a wrong form. */
function readable(messages: ChatRequest['messages']): ChatRequest['messages'] {
  return messages.map((message) => {
    if (message.role !== 'assistant') return message;
    const action = [...message.content.matchAll(/(?:get|craft) \d+ [a-z ,0-9]+/g)].at(-1)?.[0];
    return action === undefined ? message : { ...message, content: `Thought: .\nAction: ${action}` };
  });
}

const VERDICTS = {
  tidy: ['It helps.\nJudgement: <Good>', 'It does neither.\nJudgement: <Uncertain>', 'It hinders.\nJudgement: <Bad>'],
  untidy: [
    'It helps.\nJudgement: <Good>',
    'Judgment: Bad', // no marker, so that the whole reply is read
    'Judgment: Bad, though it looks good',
    'Judgement: Bad. It is not good.',
    'Judgement: BAD, although uncertain',
    'Judgement: <Good>\nNo, wait.\nJudgement: <Bad>',
    '  Judgement:   \n',
    '\u001cJudgement: Good\u0085',
    'I cannot say.',
    'Judgement: neutral',
  ],
} as const;

function verdict(style: Style, random: ReturnType<typeof createRandom>): string {
  return random.choice(VERDICTS[style]);
}

type Form = (thought: string, action: string) => string;

/** Replies of models that do not keep to the form, and what surrounds them. */
const FORMS: readonly Form[] = [
  (thought, action) => `${thought}\nAction: ${action}`,
  (thought, action) => `${thought}\n\nAction:\n${action}`,
  (thought, action) => `${thought.replace('Thought:', 'Thought 1:')}\nAction 1: ${action}`,
  (thought, action) => `${thought}\nAction: 1. ${action}`,
  (thought, action) => `${thought}\nAction: 12.   ${action}`,
  (_, action) => action,
  (thought, action) => `${thought.replace('Thought: ', '')}\n${action}`,
  (thought, action) => `${thought}\nAction: inventory\nAction: ${action}`,
  (thought, action) => `${thought}\nAction 1: inventory\nAction: ${action}`,
  (thought, action) => `${thought}\nAction: "${action}"`,
  (thought, action) => `${thought}\nAction: \`${action}\`.`,
  (thought, action) => `${thought}\nAction: ${action.replaceAll(' ', '  ')}`,
  (thought, action) => `${thought}\nAction: ${action}\nObservation: Got 1 oak log\nThought: Go on.`,
  (thought, action) => `${thought}\nAction: ${action}\nObservation: Got it\nThought: Go on.\nAction: inventory`,
  (thought, action) => `${thought}\nAction: ${action.replace(/(\d+ \w+) /, '$1_')}`,
  (thought, action) => `${thought}\nAction: ${action}\nInstruction: none`,
  (thought, action) => `${thought}\nAction: Instruction: ${action}`,
  (thought, action) => `\n  ${thought}\nAction:\t${action} \n\n`,
  (thought, action) => `\u001c\u0085${thought}\nAction: \u00a0${action}\u001f\u0085`,
  (thought, action) => `\ufeff${thought}\r\nAction: ${action}\ufeff`,
  (thought, action) => `${thought}\nAction: \u0662. ${action}`,
  (thought, action) => `${thought}\nAction: 1.\u0085${action}`,
  (thought, action) => `${thought}\naction: ${action}`,
  (thought, action) => `${thought} \u{1f9f1} “é”\nAction: ${action} \u{1f9f1}`,
  (thought, action) => `${thought}\nAction: ${action}</s>`,
  (thought) => `${thought}\nAction:`,
  (thought) => thought,
  () => ' \n ',
  () => '',
];

function untidy(form: number, thought: string, action: string): string {
  return FORMS[form]?.(thought, action) ?? '';
}
