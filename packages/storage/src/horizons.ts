import { HORIZONS, type Horizon, type Horizons, type PartitionId, type Timestamp } from '@isochron/core';

export const newHorizons = (): Horizons => ({
  gcFloor: 0,
  forgottenUpTo: 0,
  logConfirmedUpTo: 0,
  logTruncatedUpTo: 0,
});

/** The meta name of a horizon, for example `gcFloor/3`. */
export const horizonName = (horizon: Horizon, partition: PartitionId): string => `${horizon}/${partition}`;

const NAME = new RegExp(`^(${HORIZONS.join('|')})/(\\d{1,9})$`);

/** The horizon of a meta name, if it is one. */
export function horizonOf(name: string): { horizon: Horizon; partition: PartitionId } | undefined {
  const match = NAME.exec(name);
  return match === null ? undefined : { horizon: match[1] as Horizon, partition: Number(match[2]) };
}

/** Up to here a log gives its owner no entries: they were dropped, or every peer has them. */
export const logStartOf = ({ logConfirmedUpTo, logTruncatedUpTo }: Horizons): Timestamp =>
  Math.max(logConfirmedUpTo, logTruncatedUpTo);
