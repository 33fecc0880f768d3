import { z } from 'zod';
import { defineEnvironment, wholeRest } from '../environment-entry.ts';
import { text } from '../option-kinds.ts';
import { openTextCraft, SHIPPED_RECIPES } from './textcraft.ts';

export const textcraft = defineEnvironment({
  name: 'textcraft',
  summary: 'crafting tasks in a world of recipes; every fifth goal is for tests',
  options: z.strictObject({ folder: text('FOLDER', 'recipe files; those that are shipped when left out').optional() }),
  syntax: wholeRest('textcraft', 'folder', 'FOLDER'),
  open: ({ folder = SHIPPED_RECIPES }) => openTextCraft({ folder, split: { kind: 'by-hash' } }),
});
