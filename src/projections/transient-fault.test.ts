import { expect, test } from '@jest/globals';
import { LogError } from '../log/event-log.ts';
import { isOutage, isTransientFault } from './transient-fault.ts';

const postgres = (code: string, message = '') => Object.assign(new Error(message), { code });

test.each([
  ['nobody listens', postgres('ECONNREFUSED')],
  ['a server that shuts down', postgres('57P01')],
  ['a server that starts', postgres('57P03')],
  ['too many connections', postgres('53300')],
  ['a full disk', postgres('53100')],
  ['a pooler whose server is away', postgres('08P01', 'server login has been failing, cached error: connect failed')],
  ['brokers that are away', new LogError('unreachable', 'x', { retryable: true })],
])('an outage is waited out for as long as it takes: %s', (_name, error) => {
  expect([isOutage(error), isTransientFault(error)]).toEqual([true, true]);
});

test.each([
  ['that exceeds its time limit', postgres('57014')],
  ['that needs more memory than there is', postgres('53200')],
])('a statement %s is tried again, and not for ever: nothing is away', (_name, error) => {
  expect([isOutage(error), isTransientFault(error)]).toEqual([false, true]);
});

test.each([
  ['a wrong password', postgres('28P01')],
  ['a database that does not exist', postgres('3D000')],
  ['a pooler that refuses the login', postgres('08P01', 'password authentication failed')],
  ['a pooler that does not know the database', postgres('08P01', 'no such database: x')],
  ['a pooler whose database does not exist', postgres('08P01', 'server login failed: FATAL database "x" does not exist')],
  ['a pooler that wants TLS', postgres('08P01', 'SSL required')],
  ['a log that is closed', new LogError('closed', 'x')],
])('%s does not pass by itself', (_name, error) => {
  expect([isOutage(error), isTransientFault(error)]).toEqual([false, false]);
});
