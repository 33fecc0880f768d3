import { numberBetween } from './with-platform.ts';

/** Reads `component=weight,…`. @throws which names the part that is wrong. */
export function rewardWeights(text: string): Readonly<Record<string, number>> {
  const weights = new Map<string, number>();
  for (const part of text.split(',')) {
    const [component = '', given = '', ...rest] = part.split('=').map((each) => each.trim());
    if (component === '' || rest.length > 0 || weights.has(component))
      throw new Error(
        `--rewards takes component=weight, each component once, as environment=1,answer-f1=0.1, not ${JSON.stringify(part)}`,
      );
    weights.set(component, numberBetween(`--rewards ${component}`, -1e6, 1e6)(given));
  }
  return Object.fromEntries(weights);
}
