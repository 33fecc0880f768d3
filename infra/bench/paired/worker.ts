import '../production.ts';
import type { Size } from '../stage.ts';
import { openWork, type Work } from './works.ts';

// Started by `compare.ts` in the folder of a checkout. Each message asks for one round, and is answered by what it took.
const [folder = '', work, size, trees] = process.argv.slice(2) as [string, Work, Size, string];
const { round, close } = await openWork(folder, work, size, Number(trees));
process.on('message', (asked) => {
  if (asked === 'close') void close().then(() => process.disconnect());
  else void round().then((took) => process.send?.(took));
});
process.send?.('open');
