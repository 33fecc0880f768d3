import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { catalogue, type EventType, TOPICS, type Topic } from '../../src/events/catalogue.ts';
import { jsonSchemas } from '../../src/events/json-schema.ts';
import { pythonClasses, SHARED_NAMES, sharedClasses } from './python-classes.ts';

const FOLDER = fileURLToPath(new URL('../../python/espalier_rl/events/', import.meta.url));
const MADE = 'Made from the event schemas by `npm run codegen:python`.';

/** Returns the Python modules of the event types by file name: one for each topic, the names in all of them together. */
export function pythonEvents(): Readonly<Record<string, string>> {
  const schemas = jsonSchemas();
  const types = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are the event types
  const of = (topic: Topic) => types.filter((type) => catalogue[type].topic === topic);
  const modules = TOPICS.map((topic) => {
    const docstring = `"""The data of the events of the topic \`${topic}\`, as their JSON has it. ${MADE}"""`;
    const classes = of(topic).map((type) => pythonClasses(type, schemas[type]));
    const used = SHARED_NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(classes.join('\n')));
    const shared = used.length > 0 ? `\nfrom .shared import ${used.join(', ')}\n` : '';
    return [`${topic}.py`, [docstring, `${HEAD}${shared}`, ...classes].join('\n')] as const;
  });
  const imports = TOPICS.map((topic) => `from .${topic} import ${of(topic).map(nameOf).sort().join(', ')}`);
  const names = types.map((type) => `    "${nameOf(type)}",`).sort();
  const table = types.map((type) => `    "${type}": ${nameOf(type)},`);
  const all = [
    `"""The data of every event type, as its JSON has it: a TypedDict with a description for every field. ${MADE}"""`,
    '',
    ...imports.map((line) => (line.length > 150 ? wrapped(line) : line)),
    '',
    '# by the name of the event type',
    'EVENTS: dict[str, type] = {',
    ...table,
    '}',
    '',
    '__all__ = [',
    '    "EVENTS",',
    ...names,
    ']',
    '',
  ];
  const shared = [`"""Objects that many events share. ${MADE}"""`, HEAD, sharedClasses(Object.values(schemas))].join('\n');
  return { ...Object.fromEntries(modules), 'shared.py': shared, '__init__.py': all.join('\n') };
}

const HEAD = `
from __future__ import annotations

from typing import Any, Literal, TypedDict
`;

function nameOf(type: EventType): string {
  return `${type}Data`;
}

function wrapped(line: string): string {
  const [head = '', names = ''] = line.split(' import ');
  return `${head} import (\n${names
    .split(', ')
    .map((name) => `    ${name},`)
    .join('\n')}\n)`;
}

/** `npm run codegen:python` writes the modules; with `--check` it names those that differ from the schemas and exits 1. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  for (const [name, text] of Object.entries(pythonEvents())) {
    const before = await readFile(`${FOLDER}${name}`, 'utf8').catch(() => '');
    if (before === text) continue;
    if (check) {
      process.stderr.write(`python/espalier_rl/events/${name} differs from the event schemas: run npm run codegen:python\n`);
      process.exitCode = 1;
    } else await writeFile(`${FOLDER}${name}`, text);
  }
}
