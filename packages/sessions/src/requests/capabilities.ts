/** The capabilities of protocols, and the refusals of requests without them. */
import { IsochronError } from '@isochron/core';
import type { Capability } from '@isochron/protocols';

/** The capabilities of a cluster under its protocol. */
export interface Offer {
  /** The protocol's name. */
  readonly name: string;
  readonly capabilities: ReadonlySet<Capability>;
}

/** Alternatives to a missing capability. */
const INSTEAD: { readonly [Needed in Capability]: string } = {
  transactions: 'Get, set and delete one key at a time, or run the cluster under a protocol with transactions.',
  list: 'Read keys by their names, or run the cluster under a protocol with transactions.',
  operations: 'Read and write in transactions.',
  rot: 'Get one key at a time.',
  stable: 'Read until it is there.',
  snapshots: 'Read without one.',
  'read-past': 'Read the present.',
  'stable-snapshots': 'Wait until what was read is stable.',
  changes: 'List the keys, and compare.',
  'live-queries': 'Read again, or run the cluster under PaRiS.',
  'chained-commits': 'Wait for each outcome.',
  updates: 'Read the document and write it as a whole, or run the cluster under PaRiS.',
  'write-counters': 'Send the commit again while its outcome is kept.',
};

/** The refusal of a request that the protocol does not support. */
export const unsupported = ({ name }: Offer, needed: Capability, what: string): IsochronError =>
  new IsochronError(
    'NOT_SUPPORTED_BY_PROTOCOL',
    `${what}: the protocol of this cluster, ${name}, has no ${needed}. ${INSTEAD[needed]}`,
  );

/** @throws IsochronError `NOT_SUPPORTED_BY_PROTOCOL` */
export function requireCapability(protocol: Offer, needed: Capability, what: string): void {
  if (!protocol.capabilities.has(needed)) throw unsupported(protocol, needed, what);
}
