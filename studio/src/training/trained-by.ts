/** Returns the policy that the samples of a run train, by its configuration; null where they train none. */
export function trainedBy(config: unknown): string | null {
  const training = fieldOf(config, 'training');
  const policy = fieldOf(training, 'policyId');
  return typeof policy === 'string' && fieldOf(training, 'channel') === 'train' ? policy : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return Object.entries(value ?? {}).find(([key]) => key === name)?.[1];
}
