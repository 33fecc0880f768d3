import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ROLES } from '../src/app/roles.ts';

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, unknown>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
}

test('the compose file has a service for each role, which waits for the servers and reaches them', () => {
  const file = parse(readFileSync(new URL('compose.yaml', import.meta.url), 'utf8'), { merge: true });
  const services: Readonly<Record<string, Service>> = file.services;
  const { kafka, postgres, ...roles } = services;
  expect(kafka && postgres).toBeDefined();
  expect(Object.keys(roles).sort()).toEqual(Object.keys(ROLES).sort());
  for (const [name, { command, environment, depends_on }] of Object.entries(roles)) {
    expect(command).toEqual(['serve', name]);
    expect(environment).toMatchObject({ DATABASE_URL: expect.stringContaining('@postgres:'), KAFKA_BROKERS: 'kafka:19092' });
    expect(Object.keys(depends_on ?? {})).toEqual(['kafka', 'postgres']);
  }
});
