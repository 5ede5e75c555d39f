import type { PartitionId, Timestamp } from '@isochron/core';

/** Timestamps of a partition that only rise, kept as meta values. */
export interface Horizons {
  /** Reads below are refused: versions may be gone (P9). */
  gcFloor: Timestamp;
  /** Outcomes below were dropped (D5). */
  forgottenUpTo: Timestamp;
  /** Every peer has the own log entries at or below. */
  logConfirmedUpTo: Timestamp;
  /** Log entries at or below were dropped. */
  logTruncatedUpTo: Timestamp;
}

export type Horizon = keyof Horizons;

export const newHorizons = (): Horizons => ({
  gcFloor: 0,
  forgottenUpTo: 0,
  logConfirmedUpTo: 0,
  logTruncatedUpTo: 0,
});

/** The meta name of a horizon, for example `gcFloor/3`. */
export const horizonName = (horizon: Horizon, partition: PartitionId): string => `${horizon}/${partition}`;

const NAME = /^(gcFloor|forgottenUpTo|logConfirmedUpTo|logTruncatedUpTo)\/(\d{1,9})$/;

/** The horizon of a meta name, if it is one. */
export function horizonOf(name: string): { horizon: Horizon; partition: PartitionId } | undefined {
  const match = NAME.exec(name);
  return match === null ? undefined : { horizon: match[1] as Horizon, partition: Number(match[2]) };
}

/** Up to here a log gives its owner no entries: they were dropped, or every peer has them. */
export const logStartOf = ({ logConfirmedUpTo, logTruncatedUpTo }: Horizons): Timestamp =>
  Math.max(logConfirmedUpTo, logTruncatedUpTo);
