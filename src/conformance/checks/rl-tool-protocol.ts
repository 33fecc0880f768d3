import { z } from 'zod';
import { parseHermesCalls, parseRetoolCode, parseSeedCall, readNousJson } from '../../domain/tools/parse-calls.ts';
import { SEED_INVALID_FORMAT, SEED_PENALTIES } from '../../domain/tools/plan-turn.ts';
import { frameNous, frameRetool } from '../../domain/tools/profile-chat.ts';
import { answerTurn } from '../../environments/tool-env/answer-turn.ts';
import type { Tool } from '../../environments/tools/tool.ts';
import { openToolbox, type Toolbox } from '../../environments/tools/toolbox.ts';
import { rlCheck } from '../rl-vectors.ts';

const texts = z.object({ texts: z.array(z.string()) });
const framed = z.object({ responses: z.array(z.string()), limit: z.int() });

/** The tool that the vectors describe in words. */
const repeating: Tool = {
  name: 'search',
  description: '',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  execute: ({ query }) => `R:${String(query).repeat(12)}`,
};
const LIMIT = 10; // of `nous-batch-step`, given in its variant
/** As `seed_env_step` has it: it is paid for each call that succeeds. */
const PAID: Tool = { ...repeating, reward: () => 0.25 };
const LIMITS = { timeoutMs: 10_000, signal: new AbortController().signal, clock: () => 0 };

/** Judges `11-tool-protocol`: parsing and framing of the profiles, and whole steps through the environment's own turn. */
export const rlToolProtocolCheck = rlCheck(/^11-tool-protocol.*\.json$/, {
  nous_extract: ({ inputs }) => ({
    value: texts
      .parse(inputs)
      .texts.map((text) => readNousJson(text).map(({ read }) => (read.kind === 'value' ? read.value : null))),
  }),
  hermes_extract: ({ inputs }) => ({
    value: texts
      .parse(inputs)
      .texts.map((text) => parseHermesCalls(text).map(({ name, arguments: given }) => ({ name, arguments: given }))),
  }),
  async nous_batch_step({ inputs }) {
    const toolbox = openToolbox([repeating], 'full');
    const steps = texts.parse(inputs).texts.map(async (text) => {
      const answered = await answerTurn({ profile: 'nous', parallel: false, paysCalls: false, toolbox }, text, LIMITS);
      return {
        response: frameNous(answered.results, LIMIT),
        success: answered.calls.map(({ outcome }) => outcome === 'ok'),
        active: answered.kind === 'calls',
      };
    });
    return { value: await Promise.all(steps) };
  },
  seed_extract: ({ inputs, expected }) => ({
    value: texts.parse(inputs).texts.map((text, i) => nameCall(parseSeedCall(text), itemOf(expected.value, i))),
  }),
  async seed_env_step({ inputs, expected }) {
    const toolbox = openToolbox([PAID], 'seed');
    const steps = texts
      .parse(inputs)
      .texts.map(async (text, i) => nameStep(await seedStep(text, toolbox), itemOf(expected.value, i)));
    return { value: await Promise.all(steps) };
  },
  nous_format({ inputs }) {
    const { responses, limit } = framed.parse(inputs);
    return { value: frameNous(responses, limit) };
  },
  retool_extract: ({ inputs }) => ({
    value: texts.parse(inputs).texts.map((text) => {
      const code = parseRetoolCode(text);
      return code === null ? [] : [code];
    }),
  }),
  retool_frame({ inputs }) {
    const { responses, limit } = framed.parse(inputs);
    return { value: responses.map((response) => frameRetool(response, limit)) };
  },
});

/** A step of the environment of March 2025, which answers a response without a call like a broken one. */
interface SeedStep {
  readonly observation: string;
  readonly reward: number;
  /** Looked at after a success only; with `max_turns` 1 the first one ends the episode. */
  readonly done: boolean;
  readonly valid: boolean;
  readonly effective: boolean;
}

async function seedStep(text: string, toolbox: Toolbox): Promise<SeedStep> {
  const answered = await answerTurn({ profile: 'seed', parallel: false, paysCalls: true, toolbox }, text, LIMITS);
  if (answered.kind === 'final')
    return { observation: SEED_INVALID_FORMAT, reward: SEED_PENALTIES.invalid, done: false, valid: false, effective: false };
  const effective = answered.calls.every(({ outcome }) => outcome === 'ok');
  return {
    observation: answered.results.join(''),
    reward: answered.reward ?? 0,
    done: effective,
    valid: answered.executable,
    effective,
  };
}

/** Writes a step as a case does: a list in the order of the original's return value, or by names. */
function nameStep({ observation, reward, done, valid, effective }: SeedStep, expected: unknown): unknown {
  const info = { action_is_valid: valid, action_is_effective: effective };
  if (Array.isArray(expected))
    return [observation, reward, done, expected.length > 4 ? valid : info, effective].slice(0, expected.length);
  return pick({ observation, reward, done, valid, effective, info, ...info }, expected);
}

/** Writes a call by the names that a case has for it; what is no call is null, or the original's mark of one. */
function nameCall(parsed: ReturnType<typeof parseSeedCall>, expected: unknown): unknown {
  if (parsed?.kind !== 'call') return expected === null ? null : pick({ tool: 'invalid', args: {} }, expected);
  const { name, arguments: given } = parsed.call;
  return pick({ name, arguments: given, tool: name, args: given }, expected);
}

/** Takes what is computed under the names that are expected; a name that nobody computes is missing, and seen. */
function pick(computed: Readonly<Record<string, unknown>>, expected: unknown): Record<string, unknown> {
  const names = Object.keys(typeof expected === 'object' && expected !== null ? expected : {});
  return Object.fromEntries(Object.entries(computed).filter(([name]) => names.includes(name)));
}

function itemOf(list: unknown, i: number): unknown {
  return Array.isArray(list) ? (list as readonly unknown[])[i] : undefined; // isArray narrows to any[]
}
