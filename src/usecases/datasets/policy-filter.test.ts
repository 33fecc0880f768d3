import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePolicyFilter, policyFilterText } from './export/parse-trajectory-query.ts';

test.each([
  ['linear', 'linear', null],
  ['linear@3', 'linear', 3],
  ['linear@x', 'linear@x', null],
  ['openai:Qwen@http://localhost:8000/v1', 'openai:Qwen@http://localhost:8000/v1', null],
  ['org/model@main@7', 'org/model@main', 7],
  ['model@2@', 'model@2', null],
  ['model@2@0', 'model@2', 0],
  ['a@@3', 'a@', 3],
])('%s names the policy %s, version %s', (text, policyId, version) => {
  expect(parsePolicyFilter(text)).toEqual({ policyId, version });
});

test.each(['', '@', '@3', 'linear@2147483648', 'linear@9999999999'])('%j names no policy', (text) => {
  expect(parsePolicyFilter(text)).toBeUndefined();
});

test('every policy and version has a text that names it, whatever characters its id contains', () => {
  const policyId = fc.array(fc.constantFrom('a', '@', '7', ':', '/', ' '), { minLength: 1, maxLength: 6 }).map((c) => c.join(''));
  fc.assert(
    fc.property(policyId, fc.option(fc.nat()), (id, version) => {
      expect(parsePolicyFilter(policyFilterText({ policyId: id, version }))).toEqual({ policyId: id, version });
    }),
  );
});
