import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { whole } from '../option-kinds.ts';
import { openWebShop } from './webshop.ts';

/** WebShop with products that are made up, as in `webshop-generated:products=100`. */
export const webshopGenerated = defineEnvironment({
  name: 'webshop-generated',
  summary:
    'purchases in a shop by the pages, actions and rewards of WebShop; its catalogue is generated and not the published one',
  options: z.strictObject({
    seed: whole(0, 999_999_999, 'draws products and goals').default(233),
    products: whole(1, 10_000, 'products of the shop').default(1_000),
  }),
  open: openWebShop,
});
