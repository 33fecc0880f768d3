import { describe, expect, test } from '@jest/globals';
import { parseEnvironment } from '../open-environment.ts';
import { agentRAction, parseTaskList } from './agentgym-entry.ts';

describe('addresses of AgentGym servers', () => {
  test('the address holds server, URL, tasks and options', () => {
    expect(parseEnvironment('agentgym:sciworld@http://host:36001/lab?timeout=600&limit=4&snap=agent-r#0-2,300')).toEqual({
      environment: 'agentgym',
      server: 'sciworld',
      url: 'http://host:36001/lab',
      tasks: ['0', '1', '2', '300'],
      timeout: 600,
      limit: 4,
      snap: 'agent-r',
    });
  });

  test('an address without limits has five minutes and sixteen environments', () => {
    expect(parseEnvironment('agentgym:maze@http://host:36001#7')).toMatchObject({ timeout: 300, limit: 16, tasks: ['7'] });
  });

  test.each([
    ['agentgym', 'server must be textcraft or sciworld'],
    ['agentgym:chess@http://h#0', 'server=chess must be textcraft or sciworld'],
    ['agentgym:textcraft', 'server= must be textcraft or sciworld'],
    ['agentgym:textcraft@h:1#0', 'url=h:1 is no http URL'],
    ['agentgym:textcraft@ftp://h#0', 'is no http URL'],
    ['agentgym:textcraft@http://h', 'tasks is missing'],
    ['agentgym:textcraft@http://h#', 'tasks is missing'],
    ['agentgym:textcraft@http://h#%', 'tasks=% cannot be read: URI malformed'],
    ['agentgym:textcraft@http://h#5-1', '"5-1" is no task number or range'],
    ['agentgym:textcraft@http://h#-1', '"-1" is no task number or range'],
    ['agentgym:textcraft@http://h#0-2000000', 'more than 1000000 tasks'],
    ['agentgym:textcraft@http://h?timeout=0#0', 'timeout=0 must be a whole number from 1'],
    ['agentgym:textcraft@http://h?snap=hard#0', 'snap=hard must be agent-r'],
    ['agentgym:textcraft@http://h?colour=red#0', '"colour=red" is no option'],
  ])('the address %s is refused with the right form', (text, reason) => {
    expect(() => parseEnvironment(text)).toThrow(reason);
    expect(() => parseEnvironment(text)).toThrow('write agentgym:SERVER@URL[?OPTION=VALUE&…]#TASKS');
  });
});

test('a task list keeps its order and names each task once', () => {
  expect(parseTaskList('7, 3-5,4')).toEqual(['7', '3', '4', '5']);
});

test('a search by the rules of Agent-R sends actions by its client, unless the address says otherwise', () => {
  expect(agentRAction('agentgym:textcraft@http://h:1#0-9')).toBe('agentgym:textcraft@http://h:1?client=2025-03#0-9');
  expect(agentRAction('agentgym:webshop@http://h/?limit=2#0')).toBe('agentgym:webshop@http://h/?limit=2&client=2025-03#0');
  expect(parseEnvironment(agentRAction('agentgym:webshop@http://h?limit=2#0'))).toMatchObject({ client: '2025-03', limit: 2 });
  for (const kept of ['agentgym:sciworld@http://h?snap=agent-r#0', 'agentgym:webshop@http://h?client=2025-09#0', 'textcraft'])
    expect(agentRAction(kept)).toBe(kept);
});
