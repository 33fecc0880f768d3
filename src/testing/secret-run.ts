import { sql } from 'kysely';
import { serverSampling } from '../domain/prompts/policy-prompt.ts';
import { blockDigest } from '../events/prompt-digest.ts';
import type { Db } from '../postgres/database.ts';
import { EventBuilder } from './event-builder.ts';

export const SHARED = 'both prompts begin with this';

/** Builds a run whose texts hold a secret wherever the catalogue lets a text be, in one tree. It ends unless it is open. */
export function secretRun(name: string, secret: string, state: 'ended' | 'open' = 'ended') {
  const builder = new EventBuilder(name);
  const runId = builder.run(name);
  const tree = builder.tree(runId, name, { instruction: `${secret} instruction`, observation: `${secret} observation` });
  const rolloutId = builder.rollout(tree);
  const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, {
    response: `${secret} response `.repeat(4_000),
    thought: `${secret} thought`,
    action: `${secret} action`,
    observation: `${secret} seen`,
    admissibleActions: [`${secret} next`],
  });
  const { treeId } = tree;
  const blocks = [SHARED, `${secret} prompt`];
  builder.record(
    'PromptShown',
    {
      treeId,
      stepId,
      base: null,
      blocks,
      sha256: 'a'.repeat(64),
      template: null,
      tools: `${secret} tools`,
      server: null,
      tokens: null,
      messages: [{ role: 'user', parts: [{ kind: 'text', blocks: blocks.map((block) => blockDigest(block)) }] }],
      sampling: serverSampling(1),
    },
    runId,
  );
  builder.record(
    'ToolCalled',
    {
      toolCallId: builder.id('call'),
      treeId,
      stepId,
      ordinal: 0,
      tool: 'search',
      outcome: 'ok',
      durationMs: 1,
      arguments: `${secret} arguments`,
      output: `${secret} output`,
    },
    runId,
  );
  builder.reward(tree, stepId, 1, { rolloutId });
  builder.finishRollout(tree, rolloutId, stepId, { steps: 1, success: true });
  builder.closeTree(tree, 1);
  if (state === 'ended')
    builder.record(
      'RunFinished',
      { runId, outcome: 'completed', message: `${secret} end`, trees: 1, rollouts: 1, steps: 1 },
      runId,
    );
  return { builder, events: [...builder.events], runId, treeId, stepId };
}

/** Names the tables of all schemas, log and quarantine included, that hold a text, as it is or as bytes. */
export async function tablesWith(db: Db, text: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select schemaname || '.' || tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`.execute(
    db,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const hit = await sql`select 1 from ${sql.table(name)} t where position(${text} in t::text) > 0
      or position(${Buffer.from(text).toString('hex')} in t::text) > 0 limit 1`.execute(db);
    if (hit.rows.length > 0) found.push(name);
  }
  return found;
}
