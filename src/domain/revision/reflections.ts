import { createRandom } from '../random/random.ts';
import { seedFrom } from '../random/seed-from.ts';

/** What the agent says when it turns back: our words on the twenty themes of Agent-R, in their order (specification, §2.6). */
export const REFLECTIONS: readonly string[] = [
  'The way I went about this does not work. I have to revise my plan.',
  'These steps were the wrong ones. I should look for the path that leads to the goal.',
  'My actions were not correct. I will change my strategy.',
  'I see an error in what I did. Let me put it right.',
  'I misunderstood the situation. I had better look at it again.',
  'That decision was wrong. I need to weigh my options once more.',
  'I have come off course. It is time to steer back.',
  'I recognise my mistake. There must be a better solution.',
  'My judgement was incorrect. I should think this over again.',
  'I did something wrong here. I have to work out how to correct it.',
  'I was too hasty. I will consider this with more care.',
  'I misjudged this. Let me reflect on it and adjust what I do.',
  'My first steps were wrong. I need a new approach.',
  'I made a poor choice. I should change direction.',
  'There is something I overlooked. I have to attend to it now.',
  'I miscalculated. I must reckon again before I go on.',
  'It was a bad decision to do this. I will set it right.',
  'This attempt has failed, and I see why. I can learn from it.',
  'I did not think this through. A clearer plan is needed.',
  'I have strayed from the goal. I must get back to it.',
];

/** Draws the reflection of a pair: an index fixed by seed, tree and leaves, whatever else is mined (§6 item 8). */
export function drawReflection(
  seed: number,
  pair: { readonly treeId: string; readonly goodLeafStepId: string; readonly badLeafStepId: string },
): number {
  return createRandom(seedFrom('reflection', seed, pair.treeId, pair.goodLeafStepId, pair.badLeafStepId)).int(REFLECTIONS.length);
}
