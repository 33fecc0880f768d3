import type { Command } from 'commander';
import { buildIndex, readIndexes } from '../projections/answers/build-indexes.ts';
import { buildTextIndexes, dropTextIndexes } from '../projections/answers/text-indexes.ts';
import { projections } from '../projections/registry.ts';
import { say, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/**
 * `espalier index`: builds the indexes that queries are answered by and that the database lacks, while everything goes on: after
 * an upgrade of a large installation, and for the search of texts.
 */
export function addIndex(program: Command): void {
  const command = program
    .command('index')
    .option('--text', 'index the texts of the steps that were taken so far, and the goals, for the search of words')
    .option('--drop-text', 'drop the indexes of texts');
  command.action(async ({ text, dropText }: { text?: boolean; dropText?: boolean }) => {
    if (text && dropText) throw new Error('--text builds what --drop-text drops; give one of them');
    await withPlatform('index', async ({ database }, signal) => {
      const dropped = dropText ? await dropTextIndexes(database) : [];
      const built: (string | number)[][] = [];
      const indexes = await readIndexes(database.db, projections);
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
      if (wantsJson(command))
        return say(JSON.stringify({ indexes: indexes.length, built: built.map(([name]) => name), dropped }));
      if (dropped.length > 0) say(`dropped: ${dropped.join(', ')}`);
      say(built.length === 0 ? `all ${indexes.length} indexes are there` : table(['index', 'table', 'was', 'built in'], built));
    });
  });
}
