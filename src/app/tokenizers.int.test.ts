import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TOPICS } from '../events/catalogue.ts';
import { pack } from '../events/packed.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { SILENT } from '../runtime/logger.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { LOCAL } from '../testing/local-token.ts';
import { appendRecorded } from '../testing/record-batches.ts';
import { tinyIds, writeTinyTokenizer } from '../testing/tiny-tokenizer.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { serveApi } from './serve-api.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

test('a server with ESPALIER_TOKENIZERS answers the texts of ids alone by policy, names a folder without a tokenizer at its start, and the remedy when it is asked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-tokenizers-'));
  const builder = new EventBuilder('tokenizers');
  const tree = builder.tree(builder.run());
  const step = (policyId: string, depth: number) =>
    builder.step(tree, null, tree.rootStepId, depth, {
      response: 'go é',
      policySpans: [{ from: 0, to: 5, policyId, version: 0 }],
      tokens: { ids: pack('int32', tinyIds('go é')), logProbs: null, mask: null },
    });
  const steps = { known: step('known', 1), gone: step('gone', 1), other: step('other', 1) };
  await appendRecorded(platform.log, builder.events);
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
  const warnings: string[] = [];
  const tokenizers = { known: await writeTinyTokenizer(folder), gone: join(folder, 'gone') };
  const server = await serveApi(
    { ...platform, config: { ...platform.config, tokenizers } },
    { ...SILENT, warn: (message) => warnings.push(message) },
  );
  try {
    expect(warnings.filter((each) => each.includes('tokens of'))).toEqual([
      expect.stringMatching(/^the texts of tokens of gone stay unknown: there is no .*gone.tokenizer\.json; name a folder/),
    ]);
    const asked = async (id: string) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...LOCAL },
        body: JSON.stringify({
          query: 'query ($id: ID!) { step(id: $id) { tokenTexts tokens { ids { length } } } }',
          variables: { id },
        }),
      });
      return response.json();
    };
    const tokens = { ids: { length: 5 } };
    expect(await asked(steps.known)).toEqual({ data: { step: { tokenTexts: ['g', 'o', ' ', '', 'é'], tokens } } });
    expect(await asked(steps.other)).toEqual({ data: { step: { tokenTexts: null, tokens } } });
    expect(await asked(steps.gone)).toMatchObject({
      data: { step: { tokenTexts: null, tokens } },
      errors: [{ message: expect.stringMatching(/ESPALIER_TOKENIZERS/), extensions: { code: 'UNAVAILABLE' } }],
    });
  } finally {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
