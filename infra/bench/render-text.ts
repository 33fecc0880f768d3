const PLACES = ['cabinet', 'drawer', 'countertop', 'shelf', 'sinkbasin', 'fridge', 'garbagecan', 'sidetable'];
const THINGS = [
  'soapbar',
  'soapbottle',
  'cloth',
  'spraybottle',
  'candle',
  'towel',
  'mug',
  'plate',
  'knife',
  'apple',
  'lettuce',
  'book',
];

/**
 * Composes seeded histories in the style of ALFWorld: one list of records for each environment, about one in seven a repetition.
 */
export function composeHistories(environments: number, steps: number, seed: number): string[][] {
  let state = seed >>> 0;
  const draw = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const one = <T>(list: readonly T[]): T => list[draw(list.length)] as T; // draw yields a position of the list
  const thing = () => `a ${one(THINGS)} ${1 + draw(9)}`;
  const record = (): string => {
    const place = `${one(PLACES)} ${1 + draw(9)}`;
    if (draw(7) === 0) return `[Observation]: Nothing happens. [Action]: go to ${place}`;
    const seen = Array.from({ length: 1 + draw(5) }, thing).join(', ');
    if (draw(2) === 0)
      return `[Observation]: You arrive at ${place}. On the ${place}, you see ${seen}. [Action]: take ${seen.split(',')[0]} from ${place}`;
    return `[Observation]: You open the ${place}. The ${place} is open. In it, you see ${seen}. [Action]: close ${place}`;
  };
  const room = () =>
    `[Observation]: -= Welcome to TextWorld, ALFRED! =-  You are in the middle of a room. Looking quickly around you, you see ${Array.from({ length: 12 }, () => `a ${one(PLACES)} ${1 + draw(9)}`).join(', ')}.  Your task is to: put ${thing()} in ${one(PLACES)}. [Action]: go to ${one(PLACES)} 1`;
  return Array.from({ length: environments }, () => [room(), ...Array.from({ length: steps - 1 }, record)]);
}
