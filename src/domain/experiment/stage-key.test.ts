import { expect, test } from '@jest/globals';
import { sha256Hex } from '../../digest/sha256.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import { type StageInputs, stageKey } from './stage-key.ts';

const keyOf = (inputs: StageInputs) => stageKey(inputs, (value) => sha256Hex(canonicalJson(value)));
const inputs: StageInputs = {
  kind: 'revise',
  options: { alpha: 0.5, beta: 0.2 },
  seed: 1,
  codeVersion: '1',
  fingerprints: { environment: 'a' },
  used: { of: 'b' },
};

test('equal inputs have equal keys, whatever the order of their fields', () => {
  expect(keyOf({ ...inputs, options: { beta: 0.2, alpha: 0.5 } })).toBe(keyOf(inputs));
});

test.each<[string, Partial<StageInputs>]>([
  ['kind', { kind: 'release' }],
  ['options', { options: { alpha: 0.7, beta: 0.2 } }],
  ['seed', { seed: 2 }],
  ['code version', { codeVersion: '2' }],
  ['fingerprints', { fingerprints: { environment: 'b' } }],
  ['digests of what it used', { used: { of: 'c' } }],
])('another %s makes another key', (_, changed) => {
  expect(keyOf({ ...inputs, ...changed })).not.toBe(keyOf(inputs));
});
