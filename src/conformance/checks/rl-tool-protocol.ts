import { z } from 'zod';
import { frameNous, frameRetool } from '../../domain/tools/frame-observation.ts';
import { parseHermesCalls, parseRetoolCode, readNousJson } from '../../domain/tools/parse-calls.ts';
import { answerTurn } from '../../environments/tool-env/answer-turn.ts';
import type { Tool } from '../../environments/tools/tool.ts';
import { openToolbox } from '../../environments/tools/toolbox.ts';
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
    const limits = { timeoutMs: 10_000, signal: new AbortController().signal, clock: () => 0 };
    const steps = texts.parse(inputs).texts.map(async (text) => {
      const answered = await answerTurn({ profile: 'nous', parallel: false, paysCalls: false, toolbox }, text, limits);
      return {
        response: frameNous(answered.results, LIMIT),
        success: answered.calls.map(({ outcome }) => outcome === 'ok'),
        active: answered.kind === 'calls',
      };
    });
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
