import type { Command } from 'commander';
import { buildIndex, dropActionsIndex, readIndexes } from '../projections/analysis/build-indexes.ts';
import { buildTextIndexes, dropTextIndexes } from '../projections/analysis/text-indexes.ts';
import { projections } from '../projections/registry.ts';
import { settleRuns } from '../projections/training-pool/settled-samples.ts';
import { print, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

interface IndexFlags {
  readonly text?: boolean;
  readonly dropText?: boolean;
  readonly actions?: boolean;
  readonly dropActions?: boolean;
}

/**
 * `espalier index`: builds the indexes that queries are answered by and that the database lacks, while everything goes on: for the
 * search of texts, to look for an action in all steps, and those that were left broken. Groups of training that two folds each
 * saw half of are counted.
 */
export function addIndex(program: Command): void {
  const command = program
    .command('index')
    .option('--text', 'index the texts of the steps so far, and the goals, for full-text search')
    .option('--actions', 'index the actions of steps, to search all of them; it slows down writes')
    .option('--drop-actions', 'drop the index of actions')
    .option('--drop-text', 'drop the indexes of texts');
  command.action(async ({ text, dropText, actions, dropActions }: IndexFlags) => {
    if (actions && dropActions) throw new Error('--actions builds what --drop-actions drops; give one of them');
    if (text && dropText) throw new Error('--text builds what --drop-text drops; give one of them');
    await withPlatform('index', async ({ database }, signal) => {
      const dropped = dropText ? [...(await dropTextIndexes(database))] : [];
      if (dropActions && (await dropActionsIndex(database))) dropped.push('steps_action');
      const built: (string | number)[][] = [];
      const indexes = await readIndexes(database.db, projections, actions ? 'actions' : 'none');
      for (const index of indexes) {
        if (index.state === 'there') continue;
        signal.throwIfAborted(); // one that is built now ends first: an interrupted build leaves a broken index
        const began = Date.now();
        await buildIndex(database, index);
        built.push([index.name, index.table, index.state, `${((Date.now() - began) / 1_000).toFixed(1)} s`]);
      }
      if (text) {
        const began = Date.now();
        const name = await buildTextIndexes(database);
        built.push([name, 'steps', 'missing', `${((Date.now() - began) / 1_000).toFixed(1)} s`]);
      }
      await settleRuns(database.db);
      if (wantsJson(command))
        return print(JSON.stringify({ indexes: indexes.length, built: built.map(([name]) => name), dropped }));
      if (dropped.length > 0) print(`dropped: ${dropped.join(', ')}`);
      print(built.length === 0 ? `all ${indexes.length} indexes are there` : table(['index', 'table', 'was', 'built in'], built));
    });
  });
}
