/** Thrown when the code itself is wrong. No input of a user or a peer causes it: that is validated first (D12). */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
}

/** Always on, in production too. `message` may be a function if building it costs much. */
export function invariant(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantViolation(typeof message === 'string' ? message : message());
}
