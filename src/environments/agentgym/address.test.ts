import { describe, expect, test } from '@jest/globals';
import { parseAddress } from './address.ts';
import { parseTaskList } from './task-number.ts';

describe('parseAddress', () => {
  test('parseAddress reads server, URL, tasks and options', () => {
    expect(parseAddress('agentgym:sciworld@http://host:36001/lab?timeout=600&limit=4&snap=agent-r#0-2,300')).toEqual({
      server: 'sciworld',
      url: 'http://host:36001/lab',
      tasks: ['0', '1', '2', '300'],
      timeoutMs: 600_000,
      limit: 4,
      snap: 'agent-r',
    });
  });

  test.each([
    ['agentgym:chess@http://h#0', 'there is no AgentGym environment "chess", there are textcraft, sciworld'],
    ['agentgym:textcraft', 'there is no AgentGym environment ""'],
    ['agentgym:textcraft@h:1#0', 'is no http URL'],
    ['agentgym:textcraft@ftp://h#0', 'is no http URL'],
    ['agentgym:textcraft@http://h', 'say which tasks'],
    ['agentgym:textcraft@http://h#', 'say which tasks'],
    ['agentgym:textcraft@http://h#5-1', '"5-1" is no task number or range'],
    ['agentgym:textcraft@http://h#-1', '"-1" is no task number or range'],
    ['agentgym:textcraft@http://h#0-2000000', 'more than 1000000 tasks'],
    ['agentgym:textcraft@http://h?timeout=0#0', 'timeout=0 is no option'],
    ['agentgym:textcraft@http://h?colour=red#0', 'colour=red is no option'],
  ])('parseAddress refuses %s and shows the right form', (text, reason) => {
    expect(() => parseAddress(text)).toThrow(reason);
    expect(() => parseAddress(text)).toThrow('write agentgym:NAME@URL#TASKS');
  });
});

test('a task list keeps its order and names each task once', () => {
  expect(parseTaskList('7, 3-5,4')).toEqual(['7', '3', '4', '5']);
});
