import { z } from 'zod';
import { createPythonRandom } from '../../domain/random/python-random.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const integers = z.array(z.int());
const shape = z.object({
  shuffle: z.array(z.object({ n: z.int(), seed: z.int(), shuffled: integers, nextRandint0to9: integers })),
  choiceSeed7: z.array(z.tuple([z.int(), z.int()])),
});

/** Judges `04_python_rng`: CPython's shuffle, the randints that follow it in the stream, and a stream of choices. */
export const pythonRandomCheck: VectorCheck = {
  fileName: /^04_python_rng.*\.json$/,
  *judge({ json }) {
    const { shuffle, choiceSeed7 } = shape.parse(json);
    for (const { n, seed, ...expected } of shuffle) {
      const stream = createPythonRandom(seed);
      const shuffled = stream.shuffle(Array.from({ length: n }, (_, i) => i));
      yield judgeEqual(
        `shuffle of ${n}`,
        { shuffled, nextRandint0to9: expected.nextRandint0to9.map(() => stream.randint(0, 9)) },
        expected,
      );
    }
    const stream = createPythonRandom(7);
    const chosen = choiceSeed7.map(([n]) => [n, stream.choice(Array.from({ length: n }, (_, i) => i))]);
    yield judgeEqual('choices of seed 7', chosen, choiceSeed7);
  },
};
