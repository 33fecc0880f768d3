import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { createKey } from '../postgres/keys.ts';
import { childEnvironment } from '../runtime/config.ts';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { startOpenAiServer } from '../testing/openai-server.ts';
import { agentsForTests } from '../testing/python.ts';
import { openTestProxy } from './proxy/proxy-testing.ts';

const agents = await agentsForTests();

(agents.kind === 'found' ? describe : describe.skip)(`the exporter of OpenTelemetry: ${agents.kind}`, () => {
  test.each([
    ['OpenInference', 'capture_opentelemetry.py'],
    ['opentelemetry-instrumentation-openai-v2', 'capture_opentelemetry_logs.py'],
  ])('calls of models that %s instruments are recorded with what each was shown', async (_, example) => {
    const python = agents.kind === 'found' ? agents.python : '';
    const model = await startOpenAiServer({ reply: ({ messages }) => `step ${messages.length}` });
    const proxy = await openTestProxy();
    try {
      const url = await proxy.restart();
      const { key } = await createKey(proxy.api.database.db, { name: 'exporter', scopes: ['ingest'] });
      const env = childEnvironment({
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${key}`,
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'EVENT_ONLY',
      });
      const program = join(PYTHON_PACKAGE, '..', 'examples', example);
      const { stdout } = await promisify(execFile)(python, [program, 'tiny', model.url], { env });
      expect(stdout.trim()).toBe('step 4');

      await proxy.place();
      const { runs, trees, steps, prompts, quarantined } = await proxy.recorded();
      expect([runs.map(({ name }) => name), trees.length, quarantined]).toEqual([['otel'], 1, []]);
      const path = steps.toSorted((a, b) => a.depth - b.depth);
      expect(path.map(({ depth, response, observation }) => [depth, response, observation])).toEqual([
        [0, '', 'Which way?'],
        [1, 'step 2', 'You see a wall.'],
        [2, 'step 4', ''],
      ]);
      const shown = prompts.get(path[2]?.stepId ?? '')?.messages.map(({ role, parts }) => [role, ...parts]);
      expect(shown).toEqual([
        ['system', { kind: 'text', text: 'You walk.' }],
        ['user', { kind: 'text', text: 'Which way?' }],
        ['assistant', { kind: 'text', text: 'step 2' }],
        ['user', { kind: 'text', text: 'You see a wall.' }],
      ]);
    } finally {
      await proxy.close();
      await model.close();
    }
  });
});
