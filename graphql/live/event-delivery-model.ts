export interface EventDeliveryModel {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly stream: string;
  readonly streamPosition: number;
  readonly sequence: number;
  readonly occurredAt: string;
  readonly receivedAt: string | null;
  readonly runId: string;
  readonly causationId: string | null;
  readonly producer: string;
  readonly principal: string;
  readonly project: string;
  readonly data: unknown;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly requeuedFrom: number | null;
  readonly position: string;
}
