import { expect, test } from '@jest/globals';
import { type Environment, EnvironmentError, type EnvironmentKind, type Opening } from '../../environments/environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { plannerPolicy } from '../../policies/planner-policy.ts';
import { randomPolicy } from '../../policies/random-policy.ts';
import { refuseUnfit } from './refuse-unfit.ts';

/** TextCraft as an environment that lists nothing, and plans only for some tasks, or not at all. */
async function silentKind(plans: 'none' | readonly string[]) {
  const inner = await openTextCraft({ split: { kind: 'by-hash' } });
  const opened: string[] = [];
  let open = 0;
  const kind: EnvironmentKind = {
    ...inner,
    name: 'silent',
    async create() {
      const environment = await inner.create();
      open++;
      let alias = '';
      const silent: Environment = {
        ...environment,
        async reset(task): Promise<Opening> {
          alias = task.alias;
          opened.push(alias);
          return { ...(await environment.reset(task)), admissibleActions: null };
        },
        async close() {
          open--;
          await environment.close();
        },
      };
      if (plans === 'none') delete (silent as { expertAction?: unknown }).expertAction;
      else silent.expertAction = async () => (plans.includes(alias) ? 'inventory' : null);
      return silent;
    },
  };
  return { kind, opened, left: () => open };
}
const planned = (...aliases: readonly string[]) => ({ tasks: aliases.map((alias) => ({ alias })), taskSeed: 0 });

test('a policy that chooses among actions is refused where none are listed, with the remedy', async () => {
  const { kind, left } = await silentKind(['0']);
  await expect(refuseUnfit(kind, randomPolicy(), planned('0', '1'))).rejects.toMatchObject({
    name: 'PolicyUnfit',
    message: expect.stringMatching(/random cannot act in silent: the environment lists no admissible actions; use .*openai/),
  });
  expect(left()).toBe(0);
});

test('a policy that chooses among actions is accepted where they are listed when they are asked for', async () => {
  const { kind, left } = await silentKind('none');
  const listing = await openTextCraft({ split: { kind: 'by-hash' } });
  await refuseUnfit({ ...kind, withHints: () => listing }, randomPolicy(), planned('0'));
  expect(left()).toBe(0);
});

test('a planner is refused where there is no plan, and accepted where one of the first tasks has one', async () => {
  const without = await silentKind('none');
  await expect(refuseUnfit(without.kind, plannerPolicy({ epsilon: 0 }), planned('0'))).rejects.toThrow(/has no planner/);
  const blind = await silentKind([]);
  await expect(refuseUnfit(blind.kind, plannerPolicy({ epsilon: 0 }), planned('0', '1', '2', '3'))).rejects.toThrow(
    /has no planner/,
  );
  expect(blind.opened).toEqual(['0', '1', '2']);
  const some = await silentKind(['1']);
  await refuseUnfit(some.kind, plannerPolicy({ epsilon: 0 }), planned('0', '0', '1'));
  expect([some.opened, some.left()]).toEqual([['0', '1'], 0]);
});

test('a policy that writes its actions is accepted everywhere, and no environment is opened for it', async () => {
  const { kind, opened } = await silentKind('none');
  await refuseUnfit(kind, { ref: { policyId: 'model', version: 0 } }, planned('0'));
  expect(opened).toEqual([]);
});

test.each(['create', 'reset', 'expertAction'] as const)(
  'an environment that fails over %s says nothing of the policy, and its failure is found where a rollout begins',
  async (method) => {
    const { kind, left } = await silentKind([]);
    const fails = async () => {
      throw new EnvironmentError('failed', 'the door is stuck');
    };
    const failing: EnvironmentKind = {
      ...kind,
      create: method === 'create' ? fails : async () => ({ ...(await kind.create()), [method]: fails }),
    };
    await refuseUnfit(failing, plannerPolicy({ epsilon: 0 }), planned('0', '1'));
    expect(left()).toBe(0);
  },
);
