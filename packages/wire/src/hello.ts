import {
  count,
  type Kind,
  MalformedMessage,
  oneOf,
  optional,
  struct,
  type Timestamp,
  text,
  timestamp,
  uint,
  type WallMs,
} from '@isochron/core';
import { pack, unpack } from './msgpack.js';
import { NONCE_BYTES } from './proof.js';

/** Version of frames and messages. Nodes of different versions do not talk. */
export const PROTOCOL_VERSION = 4;

/** What a node sends about itself when a link opens, sealed: only who knows the secret reads it. */
export interface PeerInfo {
  readonly nodeId: string;
  /** Random name of the node's store: another one means that the disk was lost (D10). */
  readonly storeId: string;
  /** Protocol version, see {@link PROTOCOL_VERSION}. */
  readonly version: number;
  /** Hash of what must agree in the cluster files of two nodes that link. */
  readonly clusterHash: string;
  /** Epoch of the topology. */
  readonly epoch: number;
  /** The node's clock (T2). */
  readonly hlc: Timestamp;
  /** The node's wall clock when the connection was begun (K2); absent from builds that do not send it. */
  readonly wallMs?: WallMs | undefined;
}

/** The dialling side of a link, and the listening one. */
export type HandshakeRole = 'initiator' | 'acceptor';

/** Why a peer is refused. */
export interface Refusal {
  readonly code: 'PEER_REFUSED' | 'PEER_VERSION_MISMATCH' | 'PEER_CONFIG_MISMATCH';
  readonly detail: string;
}

/** First message of each side: what a stranger may know. */
export interface Hello {
  readonly version: number;
  readonly role: HandshakeRole;
  readonly nonce: Uint8Array;
}

/** Messages of a handshake. A hello of another version is not read beyond its version. */
export type HandshakeMessage =
  | { readonly kind: 'hello'; readonly hello: Hello }
  | { readonly kind: 'other-version'; readonly version: number }
  | { readonly kind: 'identity'; readonly sealed: readonly Uint8Array[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

const MAX_DETAIL_LENGTH = 256;

/** Most bytes of a sealed identity. */
const MAX_SEALED_BYTES = 1024;

const bytesOf = (min: number, max: number): Kind<Uint8Array> => ({
  encode: (bytes) => bytes,
  decode: (raw) => {
    if (!(raw instanceof Uint8Array) || raw.length < min || raw.length > max)
      throw new MalformedMessage(`expected ${min} to ${max} bytes`);
    return raw;
  },
});

const helloKind = struct<Hello>({
  version: uint,
  role: oneOf('initiator', 'acceptor'),
  nonce: bytesOf(NONCE_BYTES, NONCE_BYTES),
});

/** What a side seals. */
export interface Identity extends PeerInfo {
  /** The node that it dialled: another one that answers at this address refuses. */
  readonly expected?: string | undefined;
}

const identityKind = struct<Identity>({
  version: uint,
  nodeId: text(64),
  storeId: text(64),
  clusterHash: text(128),
  epoch: uint,
  hlc: timestamp,
  wallMs: optional(count),
  expected: optional(text(64)),
});

const refusalKind = struct<Refusal>({
  code: oneOf('PEER_REFUSED', 'PEER_VERSION_MISMATCH', 'PEER_CONFIG_MISMATCH'),
  detail: text(MAX_DETAIL_LENGTH),
});

const sealedKind = bytesOf(1, MAX_SEALED_BYTES);

// A message is `[magic, tag, body]`. These numbers, and the version as first field of a hello, hold for all versions.
const MAGIC = 'isochron';
const HELLO = 1;
const IDENTITY = 2;
const REFUSED = 3;

export const encodeHello = (hello: Hello): Uint8Array => pack([MAGIC, HELLO, helloKind.encode(hello)]);
/**
 * @param sealed the identity, sealed under each secret that its sender knows: one, or two while a secret is replaced
 */
export const encodeIdentity = (...sealed: readonly Uint8Array[]): Uint8Array =>
  pack([MAGIC, IDENTITY, ...sealed.map((one) => sealedKind.encode(one))]);
export const encodeRefusal = ({ code, detail }: Refusal): Uint8Array =>
  pack([MAGIC, REFUSED, refusalKind.encode({ code, detail: detail.slice(0, MAX_DETAIL_LENGTH) })]);

/** Reads a handshake message; a hello must be of `version`. Throws `MalformedMessage`. */
export function decodeHandshake(bytes: Uint8Array, version: number): HandshakeMessage {
  const raw = unpack(bytes);
  if (!Array.isArray(raw) || raw[0] !== MAGIC) throw new MalformedMessage('expected a handshake message');
  const body: unknown = raw[2];
  switch (raw[1]) {
    case HELLO:
      return decodeHello(body, version);
    case IDENTITY:
      return { kind: 'identity', sealed: decodeSealed(raw.slice(2)) };
    case REFUSED:
      return { kind: 'refused', refusal: refusalKind.decode(body) };
    default:
      throw new MalformedMessage('unknown handshake message');
  }
}

function decodeSealed(bodies: readonly unknown[]): Uint8Array[] {
  if (bodies.length > 2) throw new MalformedMessage('expected an identity under two secrets at most');
  return bodies.map((one) => sealedKind.decode(one));
}

function decodeHello(body: unknown, version: number): HandshakeMessage {
  if (!Array.isArray(body)) throw new MalformedMessage('expected a hello');
  const theirs = uint.decode(body[0]);
  return theirs === version
    ? { kind: 'hello', hello: helloKind.decode(body) }
    : { kind: 'other-version', version: theirs };
}

/** The content of a sealed identity. */
export const encodeContent = (identity: Identity): Uint8Array => pack(identityKind.encode(identity));
/** Throws `MalformedMessage`. */
export const decodeContent = (bytes: Uint8Array): Identity => identityKind.decode(unpack(bytes));
