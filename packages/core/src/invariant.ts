/** Thrown when the code itself is wrong. Never caused by what a user or a peer sends: that is validated first (D12). */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
}

/** Always on, in production too. `message` may be a function where building it costs something. */
export function invariant(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new InvariantViolation(typeof message === 'string' ? message : message());
}
