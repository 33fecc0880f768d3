import { z } from 'zod';
import { parseRecipeFile } from '../../environments/textcraft/recipe-file.ts';
import { buildWorld, type World } from '../../environments/textcraft/world.ts';
import type { VectorFile } from '../vector-check.ts';

const shape = z.object({ listingOrder: z.array(z.string()), pack: z.record(z.string(), z.unknown()) });

/** Builds the world of a pack in a vector file. @throws Error when the file has no pack or a recipe is malformed. */
export function worldOfPack(json: unknown): World {
  const { listingOrder, pack } = shape.parse(json);
  return buildWorld(
    listingOrder.flatMap((name) => {
      const parsed = parseRecipeFile(pack[name]);
      if (parsed.kind === 'malformed') throw new Error(`recipe ${name}: ${parsed.reason}`);
      return parsed.kind === 'recipe' ? [parsed.recipe] : [];
    }),
  );
}

/** Finds the world that a vector file of sessions or resets was made in: its own pack, or that of its sibling world file. */
export async function siblingWorld({ name, json, readSibling }: VectorFile): Promise<World> {
  if (shape.safeParse(json).success) return worldOfPack(json);
  return worldOfPack(await readSibling(name.replace(/^12_textcraft_(sessions|reset)/, '12_textcraft_world')));
}
