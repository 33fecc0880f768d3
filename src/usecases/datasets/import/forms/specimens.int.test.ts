import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { argumentsKey } from '../../../../domain/prompts/same-message.ts';
import { tokensAsJson } from '../../../../projections/step-tree/token-bytes.ts';
import { datasetWorkshop } from '../../../../testing/dataset-workshop.ts';
import { DatasetError } from '../../dataset-error.ts';
import type { ExportFormat } from '../../export/formats.ts';
import { ITEM_FORMS } from './item-form.ts';

const shop = datasetWorkshop();
const docs = (page: string) => new URL(`../../../../../docs/${page}`, import.meta.url);
const EVIDENCE = docs('evidence/imports.md');

/** A specimen of each kind of file: whose it is, and its name in `fixtures`. Those with a version were written by that code. */
const SPECIMENS: readonly (readonly [string, string])[] = [
  ['ATIF', 'atif.json'],
  ['Inspect 0.3.285, `.eval`', 'sums.eval'],
  ['Inspect 0.3.285, `.json`', 'sums.json'],
  ['SWE-agent', 'swe-agent.traj'],
  ['mini-SWE-agent', 'mini-swe-agent.traj.json'],
  ['tau-bench', 'tau-bench.json'],
  ['tau2-bench', 'tau2-bench.json'],
  ['OpenHands', 'openhands.jsonl'],
  ['Langfuse', 'langfuse.json'],
  ['Phoenix', 'phoenix.json'],
  ['OTLP of the collector', 'otlp.jsonl'],
  ['verifiers, prime-rl', 'verifiers-traces.jsonl'],
  ['rLLM 9beb6e0f, episodes', 'rllm-episodes.json'],
  ['rLLM 9beb6e0f, logged', 'rllm-logged.json'],
  ['SkyRL a9564572', 'skyrl.jsonl'],
  ['slime 624b824a', 'slime.jsonl'],
  ['AgentGym', 'agent-traj.jsonl'],
  ['LLaMA-Factory', 'sharegpt.jsonl'],
  ["OpenAI's fine-tuning", 'openai.jsonl'],
  ['verifiers, results', 'verifiers.jsonl'],
  ['verl', 'verl.jsonl'],
  ['Claude Code', 'claude-code.jsonl'],
  ['Codex', 'codex.jsonl'],
];
/** Forms of ours, by which a trajectory is written and imported again. */
const BACK: Readonly<Record<string, ExportFormat>> = {
  openai: { kind: 'openai', weights: 'own', metadata: 'include' },
  atif: { kind: 'atif', weights: 'own' },
};

test('each form has a specimen, whose messages come back from files of ours, and the pages of formats say what is kept of it', async () => {
  const rows: string[] = [];
  const forms = new Set<string>();
  for (const [writer, file] of SPECIMENS) {
    const source = fileURLToPath(new URL(`../fixtures/${file}`, import.meta.url));
    const { source: form, notes, runs } = await shop.importing({ source });
    const name = form === 'agent-traj' ? 'sharegpt' : form;
    forms.add(name);
    const before = await rowsOf(runs);
    const back: string[] = [];
    for (const [each, format] of Object.entries(BACK)) {
      const written = await writtenAs(`${file}.${each}`, format, runs);
      if (written === null) back.push('refused');
      else {
        const again = await shop.importing({ source: written });
        const after = await rowsOf(again.runs);
        const named = before.every((row) => withoutIds(row) === row) && after.some((row) => withoutIds(row) !== row);
        expect([file, each, named ? after.map(withoutIds) : after]).toEqual([file, each, before]);
        back.push(named ? 'equal, calls named' : 'equal');
      }
    }
    const lost = notes.map(({ kind, field }) =>
      field === null ? kind : kind.endsWith('-not-read') ? field : `${kind} ${field}`,
    );
    const counted = [...(await countsOf(runs, before)), lost.map((each) => `\`${each}\``).join(', ')];
    rows.push(`| \`${name}\` | ${[writer, ...counted, ...back].join(' | ')} |`);
  }
  expect([...forms].sort()).toEqual([...ITEM_FORMS].sort());
  const guide = await readFile(docs('guides/export.md'), 'utf8');
  for (const form of ITEM_FORMS) expect(guide).toContain(`\n| \`${form}\` | `);
  const table = evidence(rows);
  if (process.env.ESPALIER_WRITE_EVIDENCE === '1') await writeFile(EVIDENCE, table);
  expect(await readFile(EVIDENCE, 'utf8')).toBe(table);
}, 300_000);

/** Counts what is on record: rollouts, replies, calls of tools, results that name their call, thoughts, rewards, token ids. */
async function countsOf(runs: readonly string[], rows: readonly string[]): Promise<readonly number[]> {
  const messages = rows.flatMap((row): Readonly<Record<string, unknown>>[] => JSON.parse(row).messages);
  const having = (field: string) => messages.filter((message) => field in message).length;
  const trees = shop.db.selectFrom('trees').select('treeId').where('runId', 'in', runs);
  const taken = shop.db.selectFrom('steps').where('treeId', 'in', trees).where('depth', '>', 0);
  const steps = await taken.select(tokensAsJson('steps').as('tokens')).execute();
  const rollouts = await shop.db.selectFrom('rollouts').select('rolloutId').where('treeId', 'in', trees).execute();
  const rewards = await shop.db.selectFrom('rewards').select('rewardId').where('treeId', 'in', trees).execute();
  const calls = messages.reduce((sum, { tool_calls: given }) => sum + (Array.isArray(given) ? given.length : 0), 0);
  const ofSteps = [calls, having('tool_call_id'), having('reasoning_content'), rewards.length];
  return [rollouts.length, steps.length, ...ofSteps, steps.filter(({ tokens }) => tokens !== null).length];
}

/** Writes runs in a form of ours; null where it has no place for what they hold. */
async function writtenAs(name: string, format: ExportFormat, runs: readonly string[]): Promise<string | null> {
  try {
    return await shop.exportTo(name, format, { runs: runs.join(',') });
  } catch (error) {
    if (error instanceof DatasetError && error.code === 'structure') return null;
    throw error;
  }
}

/** The messages, tools and weights of every row, in an order that no id decides; arguments of calls by their JSON. */
async function rowsOf(runs: readonly string[]): Promise<readonly string[]> {
  const path = await shop.exportTo('rows', { kind: 'openai', weights: 'own', metadata: 'omit' }, { runs: runs.join(',') });
  const compared = (key: string, value: unknown) => (key === 'arguments' ? argumentsKey(String(value)) : value);
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  return lines.map((row) => JSON.stringify(JSON.parse(row), compared)).sort();
}

function withoutIds(row: string): string {
  return JSON.stringify(JSON.parse(row), (key, value) => (key === 'id' || key === 'tool_call_id' ? undefined : value));
}

function evidence(rows: readonly string[]): string {
  return `# Imported formats

One specimen of each kind of file that \`espalier import\` reads ([what each form keeps](../guides/export.md#trajectories-of-others)), what is on record of it, and the
notes by which its import counts what is not. Specimens with a version were written by the code of that version, the others in its published shape. Each is
then exported as \`openai\` and as \`atif\`, and that file is imported: *equal* means rows with the same messages, calls, results, tools and weights; *calls named*,
that calls without an id have one then, as ATIF links results by ids; *refused*, that the form has no place for arguments that are no JSON object (the patch that
Codex applies).

The test of the forms writes this page: \`ESPALIER_WRITE_EVIDENCE=1 npm test -- forms/specimens\`. A form without a specimen fails it.

| form | written by | rollouts | replies | calls | results by id | with reasoning | rewards | with token ids | counted as not kept | back from \`openai\` | back from \`atif\` |
|---|---|---|---|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
