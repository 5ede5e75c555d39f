/** The record at a position of a log. Its length varies, so that frames end anywhere in a sector. */
export const numbered = (position: number): Buffer => Buffer.from(`${position}:${'x'.repeat((position * 7919) % 900)}`);
