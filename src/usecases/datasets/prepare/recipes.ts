import type { Recipe } from './recipe.ts';
import { gsm8k } from './sources/gsm8k.ts';
import { hotpotqa } from './sources/hotpotqa.ts';
import { musique } from './sources/musique.ts';
import { twoWiki } from './sources/two-wiki.ts';

/** The data sets that can be prepared, by their names on the command line. */
export const RECIPES: Readonly<Record<string, Recipe>> = { hotpotqa, musique, '2wiki': twoWiki, gsm8k };
