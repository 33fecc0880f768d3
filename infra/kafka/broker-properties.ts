export interface BrokerPlace {
  readonly folder: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** Writes the server.properties of a single node that is broker and controller in one, reached from this machine only. */
export function brokerProperties(
  { folder, port, controllerPort }: BrokerPlace,
  settings: Readonly<Record<string, string | number>> = {},
): string {
  return `${Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': `${folder}/data`,

    // A topic that nobody declared is a typing error, not a wish.
    'auto.create.topics.enable': false,
    'default.replication.factor': 1,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,

    // A record is at most 2 MiB (RECORD_LIMIT of the log); the rest is framing.
    'message.max.bytes': 4 * 1024 * 1024,

    // Small and quick: one group coordinator partition instead of 50, no wait for members that may still come, small indexes.
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.num.partitions': 1,
    'group.initial.rebalance.delay.ms': 0,
    'group.coordinator.append.linger.ms': 0,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'log.index.size.max.bytes': 1024 * 1024,
    'log.cleaner.dedupe.buffer.size': 4 * 1024 * 1024,
    // After a kill the broker of the next start would wait this long (9 s by default) for its own old session to end.
    'broker.session.timeout.ms': 3_000,
    'broker.heartbeat.interval.ms': 500,
    ...settings,
  })
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}
