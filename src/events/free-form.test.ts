import { expect, test } from '@jest/globals';
import { catalogue, type EventType } from './catalogue.ts';
import { freeFormFields } from './free-form.ts';

test('the free-form fields of every type are those that its schema declares as any JSON', () => {
  const fields = (Object.keys(catalogue) as EventType[]).flatMap((type) =>
    [...freeFormFields(type)].map((path) => `${type} ${path}`),
  );
  expect(fields).toEqual(
    expect.arrayContaining([
      'RunStarted config',
      'RenderSpecRegistered spec',
      'DatasetReleased query',
      'DatasetReleased parameters',
      'DatasetReleased counts',
      'ReplayFinished parameters',
      'TrainingDeclared estimator.mode',
      'TrainingDeclared trainer',
      'PolicyUpdated loss.mode',
    ]),
  );
  expect(freeFormFields('StepTaken').size).toBe(0);
});
