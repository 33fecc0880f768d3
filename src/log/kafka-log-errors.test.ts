import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import kafkajs from 'kafkajs';
import { isLostAnswer, isPassedOver, isTransient, toLogError } from './kafka-log-errors.ts';

const { KafkaJSAggregateError, KafkaJSNonRetriableError, KafkaJSProtocolError, KafkaJSSASLAuthenticationError } = kafkajs;

/** A failed login as the client's layers hand it on; the published types forget what the constructors take. */
function failedLogin(message: string): Error {
  const login: Error = Reflect.construct(KafkaJSSASLAuthenticationError, [message]);
  return Reflect.construct(KafkaJSNonRetriableError, [login, { cause: login }]);
}
function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error; // what an engine throws
  }
  throw new Error('it has thrown nothing');
}
const toFault = (error: Error) => toLogError(error, ['b:9092'], 'creating topics');

describe('errors of kafkajs', () => {
  test.each([
    'SASL SCRAM SHA512 authentication failed: Closed connection',
    'SASL PLAIN authentication failed: Connection error: read ECONNRESET',
    'SASL PLAIN authentication failed: Connection timeout',
    'SASL OAUTHBEARER authentication failed: Request SaslAuthenticate(key: 36, version: 1) timed out',
  ])('a connection that breaks during the login is an outage: %s', (message) => {
    const error = failedLogin(message);
    expect(isTransient(error)).toBe(true);
    expect(toFault(error)).toMatchObject({ code: 'unreachable', retryable: true });
  });

  test('a login that a broker refuses is no outage, and may be accepted later', () => {
    const error = failedLogin('SASL PLAIN authentication failed: Authentication failed: Invalid username or password');
    expect(isTransient(error)).toBe(false);
    expect(toFault(error)).toMatchObject({ code: 'refused', retryable: true, message: expect.stringContaining('the login') });
  });

  test('an answer that the client confused with another one is recognised by what the engine says of it, however it is wrapped', () => {
    const high: { partitions: number[] }[] = [];
    const confused = () => {
      const { partitions } = high.pop() as { partitions: number[] }; // as kafkajs reads the second of two answers (#461)
      return partitions;
    };
    const lost = thrownBy(confused);
    expect(isLostAnswer(lost)).toBe(true);
    expect(isLostAnswer(Reflect.construct(KafkaJSNonRetriableError, [lost, { cause: lost }]))).toBe(true);
    expect(isLostAnswer(thrownBy(() => (high as unknown as { name: { of: string } }).name.of))).toBe(false);
    expect(isLostAnswer(failedLogin('SASL PLAIN authentication failed: Connection timeout'))).toBe(false);
  });

  test('a consumer that reads of a topic which a rebalance took from it meanwhile is recognised', async () => {
    const OffsetManager = createRequire(import.meta.url)('kafkajs/src/consumer/offsetManager');
    const offsets = {};
    const cluster = { committedOffsets: () => offsets };
    const assigned = (memberAssignment: object) =>
      new OffsetManager({ cluster, memberAssignment, groupId: 'g', autoCommit: false, topicConfigurations: {} });
    const before = assigned({ taken: [1], kept: [0] });
    assigned({ kept: [0] });
    const error = await before.resolveOffsets().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(TypeError);
    expect(isPassedOver(error)).toBe(true);
    expect(isPassedOver(failedLogin('SASL PLAIN authentication failed: Connection timeout'))).toBe(false);
  });

  test('a missing right to create topics is named, not the request that held them', () => {
    const refused = new KafkaJSProtocolError(
      Object.assign(new Error('Topic authorization failed'), { type: 'TOPIC_AUTHORIZATION_FAILED', code: 29, retriable: false }),
    );
    const fault = toFault(new KafkaJSAggregateError('Topic creation errors', [refused]));
    expect(fault).toMatchObject({ code: 'refused', message: expect.stringContaining('the rights of this user are missing') });
  });
});
