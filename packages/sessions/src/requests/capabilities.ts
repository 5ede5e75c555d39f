/** What protocols can do, and the refusals of what they cannot. */
import { IsochronError } from '@isochron/core';
import type { Capability } from '@isochron/protocols';

/** What a cluster offers under its protocol. */
export interface Offer {
  /** The protocol's name. */
  readonly name: string;
  readonly capabilities: ReadonlySet<Capability>;
}

/** What to do instead, where a protocol cannot do something. */
const INSTEAD: { readonly [Needed in Capability]: string } = {
  transactions: 'Get, set and delete one key at a time, or run the cluster under a protocol with transactions.',
  list: 'Read keys by their names, or run the cluster under a protocol with transactions.',
  operations: 'Read and write in transactions.',
  rot: 'Get one key at a time.',
  stable: 'Read until it is there.',
  snapshots: 'Read without one.',
  'read-past': 'Read the present.',
  'stable-snapshots': 'Wait until what was read is stable.',
  'chained-commits': 'Wait for each outcome.',
};

/** The refusal of what a protocol cannot do. */
export const unsupported = ({ name }: Offer, needed: Capability, what: string): IsochronError =>
  new IsochronError(
    'NOT_SUPPORTED_BY_PROTOCOL',
    `${what}: the protocol of this cluster, ${name}, has no ${needed}. ${INSTEAD[needed]}`,
  );

/** @throws IsochronError `NOT_SUPPORTED_BY_PROTOCOL` */
export function requireCapability(protocol: Offer, needed: Capability, what: string): void {
  if (!protocol.capabilities.has(needed)) throw unsupported(protocol, needed, what);
}
