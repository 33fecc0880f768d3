import { expect, test } from '@jest/globals';
import { fileOfManifest, manifestPath } from './manifest.ts';

test.each([
  ['out/data.jsonl', 'out/_manifests/data.manifest-jsonl'],
  ['data.parquet', '_manifests/data.manifest-parquet'],
  ['a/b.c.jsonl', 'a/_manifests/b.c.manifest-jsonl'],
  ['plain', '_manifests/plain.manifest'],
])('the manifest of %s is %s, whose name holds no ending of data and leads back to its file', (file, manifest) => {
  expect(manifestPath(file)).toBe(manifest);
  expect(fileOfManifest(manifest)).toBe(file);
});

test('a name that is none of a manifest leads to no file', () => {
  expect(fileOfManifest('out/data.jsonl.manifest.json')).toBeNull();
  expect(fileOfManifest('out/data.manifest-jsonl')).toBeNull();
});
