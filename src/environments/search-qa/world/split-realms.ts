import { sha256Hex } from '../../../digest/sha256.ts';

/** Puts the fifth of the realms (at least one) whose country has the least hash into `test`, the others into `train`. */
export function splitRealms(countries: readonly string[]): ('test' | 'train')[] {
  const hashes = countries.map((country) => sha256Hex(JSON.stringify(['search-qa-split', country])));
  const tested = new Set([...hashes].sort().slice(0, Math.max(1, Math.round(countries.length / 5))));
  return hashes.map((hash) => (tested.has(hash) ? 'test' : 'train'));
}
