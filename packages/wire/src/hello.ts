import {
  count,
  type Infer,
  type Kind,
  MalformedMessage,
  nullable,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uint,
} from '@isochron/core';
import { pack, unpack } from './msgpack.js';
import { NONCE_BYTES } from './proof.js';

/** Version of frames and messages. Nodes of different versions do not link. */
export const PROTOCOL_VERSION = 6;

/** The dialling side of a link, and the listening side. */
export type HandshakeRole = 'initiator' | 'acceptor';

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

/** First message of each side: readable by strangers. */
export const Hello = object({
  version: uint,
  role: oneOf<HandshakeRole>('initiator', 'acceptor'),
  nonce: bytesOf(NONCE_BYTES, NONCE_BYTES),
});
export type Hello = Infer<typeof Hello>;

/**
 * Hashes of a node's access rules and of its users' settings, null where it has none: a node without what its peers
 * have serves no client.
 */
export const Protection = object({ rules: nullable(text(64)), users: nullable(text(64)) });
export type Protection = Infer<typeof Protection>;

/** A node without rules and credentials: everything is allowed there. */
export const UNPROTECTED: Protection = { rules: null, users: null };

const peerInfo = {
  /** Protocol version, see {@link PROTOCOL_VERSION}. */
  version: uint,
  nodeId: text(64),
  /** Random name of the node's store: another name means that the disk was lost (D10). */
  storeId: text(64),
  /** Hash of the parts of the cluster file that two linked nodes must share. */
  clusterHash: text(128),
  /** The node's clock (T2). */
  hlc: timestamp,
  protection: Protection,
  /** The node's wall clock when the connection was begun (K2), ms; absent from builds that do not send it. */
  wallMs: optional(count),
};

/** A node's data about itself when a link opens, sealed: readable only with the secret. */
const PeerInfo = object(peerInfo);
export type PeerInfo = Infer<typeof PeerInfo>;

/** The content of a sealed identity. */
export const Identity = object({
  ...peerInfo,
  /** The dialled node: another node at this address refuses. */
  expected: optional(text(64)),
});
export type Identity = Infer<typeof Identity>;

/** Why a peer is refused. */
export const Refusal = object({
  code: oneOf('PEER_REFUSED', 'PEER_VERSION_MISMATCH', 'PEER_CONFIG_MISMATCH'),
  detail: text(MAX_DETAIL_LENGTH),
});
export type Refusal = Infer<typeof Refusal>;

/** Messages of a handshake. A hello of another version is not read beyond its version. */
export type HandshakeMessage =
  | { readonly kind: 'hello'; readonly hello: Hello }
  | { readonly kind: 'other-version'; readonly version: number }
  | { readonly kind: 'identity'; readonly sealed: readonly Uint8Array[] }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

const sealedKind = bytesOf(1, MAX_SEALED_BYTES);

// A message is `[magic, tag, body]`. These numbers, and the version as first field of a hello, hold for all versions.
const MAGIC = 'isochron';
const HELLO = 1;
const IDENTITY = 2;
const REFUSED = 3;

export const encodeHello = (hello: Hello): Uint8Array => pack([MAGIC, HELLO, Hello.encode(hello)]);
/**
 * @param sealed the identity, sealed under each secret of its sender: two secrets while a secret is replaced
 */
export const encodeIdentity = (...sealed: readonly Uint8Array[]): Uint8Array =>
  pack([MAGIC, IDENTITY, ...sealed.map((one) => sealedKind.encode(one))]);
export const encodeRefusal = ({ code, detail }: Refusal): Uint8Array =>
  pack([MAGIC, REFUSED, Refusal.encode({ code, detail: detail.slice(0, MAX_DETAIL_LENGTH) })]);

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
      return { kind: 'refused', refusal: Refusal.decode(body) };
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
  return theirs === version ? { kind: 'hello', hello: Hello.decode(body) } : { kind: 'other-version', version: theirs };
}

/** The content of a sealed identity. */
export const encodeContent = (identity: Identity): Uint8Array => pack(Identity.encode(identity));
/** Throws `MalformedMessage`. */
export const decodeContent = (bytes: Uint8Array): Identity => Identity.decode(unpack(bytes));
