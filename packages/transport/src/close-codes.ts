/** WebSocket close codes of peering links. */
export const CLOSE_CODES = {
  /** The node shuts down. */
  GOING_AWAY: 1001,
  /** A frame above the limit; ws closes with the standard's own code before it reads the frame. */
  FRAME_TOO_LARGE: 1009,
  /** More connections are in the middle of a handshake than the node allows. */
  TOO_MANY_HANDSHAKES: 1013,
  /** A frame that cannot be decoded, or of an unknown message. */
  FRAME_INVALID: 4400,
  /** A text frame. */
  FRAME_NOT_BINARY: 4402,
  /** Wrong secret, unknown or doubled node, or another message in place of a handshake. */
  PEER_REFUSED: 4403,
  /** Another cluster file, in a part that must agree. */
  PEER_CONFIG_MISMATCH: 4406,
  /** Another protocol version. */
  PEER_VERSION_MISMATCH: 4407,
  /** The wall clocks of both nodes differ too much, or a frame names a time too far ahead (K1). */
  CLOCK_DRIFT: 4410,
  /** The handshake took too long. */
  HANDSHAKE_TIMEOUT: 4408,
  /** The same node opened a newer connection. */
  LINK_REPLACED: 4409,
  /** The authority of the peer's certificate was taken out: a connection with another certificate may be accepted. */
  CERTIFICATE_DROPPED: 4411,
} as const;

export type CloseName = keyof typeof CLOSE_CODES;

const NAMES = new Map<number, string>(Object.entries(CLOSE_CODES).map(([name, code]) => [code, name]));

/** The name of a close code that came from a peer. */
export const closeNameOf = (code: number): string =>
  NAMES.get(code) ?? (code === 1006 ? 'CONNECTION_LOST' : `CLOSED_${code}`);

/** Whether the other side refuses this node as such, so that a quick retry is no use. */
export const isRefusal = (code: string): boolean =>
  code === 'PEER_REFUSED' || code === 'PEER_CONFIG_MISMATCH' || code === 'PEER_VERSION_MISMATCH';
