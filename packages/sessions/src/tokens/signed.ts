/**
 * The format of all session tokens: base64url of a record that this cluster has signed.
 *
 * format 1 · cluster and history 8 · length and protocol · fields of the protocol's kind · MAC 16
 *
 * The MAC is HMAC-SHA256 under a key derived from the cluster secret, cut to 16 bytes: of the record, and of the id of
 * the principal that holds the token, where callers need credentials.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { IsochronError, isTimestamp, RecentMap, type Timestamp } from '@isochron/core';
import { Hmac } from '@isochron/wire/hmac';
import { ListPlaces } from './list-places.js';
import { RecordWriter } from './record-writer.js';

/** The cluster whose tokens are signed. */
export interface TokenCluster {
  /** Signs its tokens. */
  readonly secret: string;
  /** Its tokens are accepted as well, while one secret replaces the other. */
  readonly secondSecret?: string | undefined;
  /** Its protocol, by name. */
  readonly protocol: string;
  /** Differs between clusters, and changes with the placement of the data: tokens do not outlive a placement. */
  readonly identity: string;
}

/** Number of the format. A token of another format is refused. */
const FORMAT = 7;
const TAG_BYTES = 8;
const MAC_BYTES = 16;
const HEAD_BYTES = 1 + TAG_BYTES;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Signs and verifies the tokens of one cluster. Recent results are kept, so that a hot session costs no HMAC. */
export abstract class SignedTokens<Claims> {
  protected readonly protocol: string;
  /** The places at which lists go on. */
  readonly places: ListPlaces;
  readonly #maxLength: number;
  /** The first one signs. */
  readonly #macs: readonly Hmac[];
  readonly #tag: Buffer;
  readonly #record = new RecordWriter();
  readonly #decoded = new RecentMap<string, Claims & object>(2048);

  constructor(maxLength: number, cluster: TokenCluster) {
    const { secret, secondSecret, protocol, identity } = cluster;
    this.#maxLength = maxLength;
    const secrets = secondSecret === undefined ? [secret] : [secret, secondSecret];
    this.#macs = secrets.map((each) => new Hmac(keyOf(each)));
    this.places = new ListPlaces(secrets, identity);
    this.#tag = createHash('sha256').update(identity).digest().subarray(0, TAG_BYTES);
    this.protocol = protocol;
  }

  /**
   * Reads a token.
   * @param latest the latest timestamp that a client may name at this node
   * @param holder the principal that sends it; see `holderOf`
   * @throws IsochronError `TOKEN_INVALID` damaged, forged, of another principal or protocol, `TOKEN_FOREIGN` of another
   * cluster, `TIMESTAMP_IN_FUTURE` (T1)
   */
  decode(token: string, latest: Timestamp, holder = ''): Claims {
    const name = holder === '' ? token : `${token} ${holder}`;
    const known = this.#decoded.get(name);
    if (known !== undefined) return known;
    const claims = this.read(this.#verify(token, holder));
    this.judge(claims, latest);
    this.#decoded.set(name, claims);
    return claims;
  }

  /** The claims in the fields of a record of this protocol, which are read to the end. */
  protected abstract read(fields: Fields): Claims & object;

  /** @throws IsochronError for claims that must not be accepted although they are signed */
  protected abstract judge(claims: Claims, latest: Timestamp): void;

  /** @param write writes the fields of the protocol's kind */
  protected sign(write: (record: RecordWriter) => void, holder: string): string {
    const record = this.#record;
    record.begin();
    record.byte(FORMAT);
    record.bytes(this.#tag);
    record.text(this.protocol);
    write(record);
    record.latin1(macOf(this.#macs[0]!, heldBy(record.written, holder)));
    return record.written.toString('base64url');
  }

  /** The fields of the protocol's kind. */
  #verify(token: string, holder: string): Fields {
    if (token.length > this.#maxLength || !BASE64URL.test(token)) throw damaged();
    const record = Buffer.from(token, 'base64url');
    // A last character with spare bits set decodes to the same bytes: only the one canonical text is a token.
    if (record.length < HEAD_BYTES + MAC_BYTES || record.toString('base64url') !== token) throw damaged();
    if (record[0] !== FORMAT) throw damaged();
    // The cluster comes before the MAC: another cluster signs with another key, and the caller gets the specific error.
    if (!record.subarray(1, HEAD_BYTES).equals(this.#tag)) {
      throw new IsochronError(
        'TOKEN_FOREIGN',
        'This session token was made by another cluster. Start a new session here.',
      );
    }
    const body = record.subarray(0, record.length - MAC_BYTES);
    const mac = record.subarray(body.length);
    const signed = heldBy(body, holder);
    if (!this.#macs.some((each) => timingSafeEqual(Buffer.from(macOf(each, signed), 'latin1'), mac))) throw damaged();
    const fields = new Fields(body);
    fields.skip(HEAD_BYTES);
    const theirs = fields.text();
    if (theirs !== this.protocol) throw ofAnotherProtocol(theirs, this.protocol);
    return fields;
  }
}

const keyOf = (secret: string): Buffer => createHmac('sha256', secret).update('isochron session token 1').digest();

/** What is signed: a record and its holder. A record has an end of its own. */
const heldBy = (record: Buffer, holder: string): Buffer =>
  holder === '' ? record : Buffer.concat([record, Buffer.from(holder)]);

/** The MAC of a record, a character for each byte. */
const macOf = (mac: Hmac, body: Buffer): string => mac.of(body).slice(0, MAC_BYTES);

/** Reads the fields of a record one after the other. */
export class Fields {
  #at = 0;

  constructor(readonly record: Buffer) {}

  byte(): number {
    this.#need(1);
    return this.record[this.#at++]!;
  }

  skip(bytes: number): void {
    this.#need(bytes);
    this.#at += bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.record.length;
  }

  /** The remaining bytes. */
  rest(): Buffer {
    const rest = this.record.subarray(this.#at);
    this.#at = this.record.length;
    return rest;
  }

  text(): string {
    const length = this.byte();
    this.skip(length);
    return this.record.toString('latin1', this.#at - length, this.#at);
  }

  timestamp(): Timestamp {
    const ts = this.count();
    if (!isTimestamp(ts)) throw damaged();
    return ts;
  }

  /** A whole number, in 8 bytes. */
  count(): number {
    this.skip(8);
    const count = this.record.readUInt32BE(this.#at - 8) * 2 ** 32 + this.record.readUInt32BE(this.#at - 4);
    if (!Number.isSafeInteger(count)) throw damaged();
    return count;
  }

  /** A whole number as `RecordWriter.uint` writes it. */
  uint(): number {
    let [value, scale] = [0, 1];
    for (; ; scale *= 128) {
      const byte = this.byte();
      value += (byte % 128) * scale;
      if (byte < 128) break;
      if (scale > 2 ** 21) throw damaged();
    }
    return value;
  }

  /** The result, if no bytes are left. */
  end<T>(result: T): T {
    if (!this.isAtEnd) throw damaged();
    return result;
  }

  #need(bytes: number): void {
    if (this.#at + bytes > this.record.length) throw damaged();
  }
}

export const damaged = (): IsochronError =>
  new IsochronError(
    'TOKEN_INVALID',
    'The session token is damaged, or was not made by this cluster for this principal. Start a new session.',
  );

const ofAnotherProtocol = (theirs: string, ours: string): IsochronError => {
  const detail = `The session token was made under the protocol ${theirs}; this cluster runs ${ours}. Start a new session.`;
  return new IsochronError('TOKEN_INVALID', detail);
};
