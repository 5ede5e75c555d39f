import type { AnyMessage, NodeId } from '@isochron/core';

/** A machine on a node. Structurally the protocols' own address. */
export interface Address {
  readonly node: NodeId;
  readonly machine: string;
}

/** A message on its way between two machines. */
export interface Envelope<M extends AnyMessage> {
  readonly to: Address;
  readonly from: Address;
  readonly message: M;
}
