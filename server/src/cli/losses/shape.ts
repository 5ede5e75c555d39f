/** The part of the answer of `/v1/losses` that the command line relies on. */
import { type Static, Type } from '@sinclair/typebox';
import { Count, Name, reader } from '../status/shape.js';

const LossSchema = Type.Object({
  transaction: Name,
  timestamp: Count,
  committed: Type.Boolean(),
  takenBack: Type.Boolean(),
  node: Name,
  partitions: Type.Array(Name),
  keys: Type.Array(Type.Object({ keyspace: Type.String(), key: Type.String() })),
  acknowledged: Type.Boolean(),
});
const LossesSchema = Type.Object({ node: Name, open: Count, losses: Type.Array(LossSchema) });
const AcknowledgedSchema = Type.Object({ node: Name, acknowledged: Count, open: Count });

/** A loss as one node reports it. */
export type LossAnswer = Static<typeof LossSchema>;

export const isLosses = reader(LossesSchema);
export const isAcknowledged = reader(AcknowledgedSchema);
