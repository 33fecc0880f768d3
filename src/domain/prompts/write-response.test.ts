import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { writeResponse } from './parse-thought-action.ts';
import { projectResponse } from './project-response.ts';

const factor = fc.double({ min: 1, max: 5, noNaN: true });
const command = fc.constantFrom('look', 'go to desk 1', 'take mug 2 from shelf 1', 'inventory', 'get 2 oak logs');

describe('writeResponse', () => {
  test.each(['alfworld', 'textcraft', 'webshop'] as const)(
    'a %s response is read back as the action and factor that it was written for',
    (name) => {
      fc.assert(
        fc.property(command, factor, (action, asked) => {
          const response = writeResponse(name, { thought: 'This is next.', action, factor: asked });
          expect(projectResponse(name, response, { compression: true })).toMatchObject({ action, valid: true, factor: asked });
        }),
      );
    },
  );

  test('a search-qa response is read back as its query, or as its answer with factor 1', () => {
    const search = writeResponse('search-qa', { thought: 't', action: '<search>who?</search>', factor: 1.5 });
    expect(projectResponse('search-qa', search, { compression: true })).toMatchObject({
      action: '<search>who?</search>',
      valid: true,
      factor: 1.5,
    });
    const answer = writeResponse('search-qa', { thought: 't', action: '<answer>Ada</answer>', factor: 1.5 });
    expect(projectResponse('search-qa', answer, { compression: true })).toMatchObject({
      action: '<answer>Ada</answer>',
      factor: 1,
    });
  });

  test('a response without a factor contains no compression tag', () => {
    expect(writeResponse('textcraft', { thought: 't', action: 'look', factor: null })).toBe('Thought: t\nAction: look');
  });
});
