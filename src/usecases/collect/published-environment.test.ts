import { expect, test } from '@jest/globals';
import type { Environment, EnvironmentKind } from '../../environments/environment.ts';
import { publishedEnvironment } from './published-environment.ts';

/** As a module of the user's may export it: what it does lies in classes, and what it knows in private fields. */
class Door {
  readonly #said: string[] = [];
  parse(response: string) {
    return { thought: '', action: response, wellFormatted: true };
  }
  async reset({ alias }: { readonly alias: string }) {
    return { observation: `door\n${alias}`, goal: '', depth: null, split: null, stateHash: null };
  }
  async step(action: string) {
    this.#said.push(action);
    const observation = this.#said.join('\n');
    return { observation, reward: 0, terminated: false, truncated: false, success: null, stateHash: null };
  }
  async clone(): Promise<Door> {
    const copy = new Door();
    copy.#said.push(...this.#said);
    return copy;
  }
  async close(): Promise<void> {}
}
class Doors {
  readonly #aliases = ['a', 'b'];
  get name(): string {
    return 'doors';
  }
  get taskAliases(): readonly string[] {
    return this.#aliases;
  }
  async create(): Promise<Door> {
    return new Door();
  }
  async close(): Promise<void> {}
}

test('an environment made of classes keeps its name, tasks and private fields as the published search sees it, copies too', async () => {
  const kind = publishedEnvironment(new Doors() as unknown as EnvironmentKind);
  expect([kind.name, kind.taskAliases]).toEqual(['doors', ['a', 'b']]);
  const door = await kind.create();
  expect(await door.reset({ alias: 'a', seed: 0 })).toMatchObject({ observation: 'door\na' });
  expect(door.parse('Thought: t\nAction: push')).toMatchObject({ action: 'push' });
  await door.step('push');
  const copy = (await door.clone?.()) as Environment;
  expect(await copy.step('pull')).toMatchObject({ observation: 'push pull' });
  expect(await door.step('knock')).toMatchObject({ observation: 'push knock' });
});
