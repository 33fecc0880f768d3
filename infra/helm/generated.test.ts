import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ROLE_NAMES, ROLES } from '../../src/app/roles.ts';
import { generated } from './generate.ts';
import { chartValues, readValues } from './values.ts';

test('the compose file, the schema of the values and the list of reached roles are what `npm run codegen:helm` writes', async () => {
  for (const [file, contents] of await generated()) expect(readFileSync(file, 'utf8')).toBe(contents);
});

test('the values of the chart have an entry for each role, in their order', () => {
  expect(Object.keys(readValues().roles)).toEqual(ROLE_NAMES);
});

test.each([
  ['a role that does not exist', { roles: { ...readValues().roles, projektor: { replicas: 1, resources: {} } } }],
  ['a setting that nothing reads', { settings: { ESPALIER_PROBE_PROT: '1' } }],
  ['a secret in the clear', { settings: { DATABASE_URL: 'postgres://u:p@h/d' } }],
  ['a number as a setting, which a chart writes as a float', { settings: { ESPALIER_MAX_BODY_BYTES: 33_554_432 } }],
])('the schema refuses %s', (_, changes) => {
  expect(chartValues.safeParse({ ...readValues(), ...changes }).success).toBe(false);
});

interface Service {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, unknown>>;
  readonly depends_on: Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
}

test('the compose file has a service for each role, which waits for the servers and reaches them', () => {
  const file = parse(readFileSync(new URL('../compose.yaml', import.meta.url), 'utf8'), { merge: true });
  const { kafka, postgres, ...roles } = file.services as Readonly<Record<string, Service>>;
  expect(kafka && postgres).toBeDefined();
  expect(Object.keys(roles).sort()).toEqual([...ROLE_NAMES].sort());
  for (const name of ROLE_NAMES) {
    expect(roles[name]).toMatchObject({
      command: ['serve', name],
      environment: { DATABASE_URL: expect.stringContaining('@postgres:'), KAFKA_BROKERS: 'kafka:19092' },
    });
    expect(Object.keys(roles[name]?.depends_on ?? {})).toEqual(['kafka', 'postgres']);
    expect(roles[name]?.ports !== undefined).toBe(ROLES[name].reached);
  }
});
