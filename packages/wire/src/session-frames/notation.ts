/**
 * The notation of session frames: that of messages between nodes (`core/schema.ts`), for objects with named fields. A
 * kind is data. The client makes a parser of it, the node a check in place, and tests make samples.
 */
import type { Content, Timestamp, TxId, Value } from '@isochron/core/ids';

/** JSON text of a document, or bytes. */
export type WireValue = string | { readonly bytes: string } | Uint8Array;

/**
 * A change of the document: the JSON text of an array of operations, in both encodings, which replicas fold into the
 * document when they read it (F1). With the capability `updates`.
 */
export interface WireUpdate {
  readonly operations: string;
}

/** What a write stores: a value, an update, or null, which deletes. */
export type WireContent = WireValue | WireUpdate | null;

/** A field. `Wire`: its type as it travels; `Read`: its type once a client has read it. */
export type Kind<Wire = unknown, Read = unknown> = Form & Types<Wire, Read>;

/** Holds the types of a field. */
export interface Types<Wire, Read> {
  /** Never present: holds the types. */
  readonly types?: readonly [Wire, Read];
}

/** The description of a field. */
export type Form =
  | { readonly is: 'text'; readonly max?: number }
  | { readonly is: 'whole'; readonly min: number; readonly max: number }
  | { readonly is: 'count' | 'timestamp' | 'flag' | 'mark' | 'txId' | 'value' | 'content' | 'later' }
  | { readonly is: 'optional' | 'nullable' | 'list'; readonly of: Kind }
  | { readonly is: 'tuple'; readonly of: readonly Kind[] }
  | { readonly is: 'oneOf'; readonly of: readonly string[] }
  | ObjectForm;

export interface ObjectForm<F extends Fields = Fields> {
  readonly is: 'object';
  readonly of: F;
  /** Of a frame. */
  readonly type?: string;
}

export interface Fields {
  readonly [name: string]: Kind;
}

/** The type of a field, or of a frame, as it travels. */
export type Infer<K extends Kind> = K extends Types<infer Wire, unknown> ? Wire : never;
/** The type of a value that a client has read: bytes are decoded, and unknown fields are dropped. */
export type Read<K extends Kind> = K extends Types<unknown, infer Read> ? Read : never;

/** Marks the fields that may be absent. */
export interface Optional {
  readonly is: 'optional';
}
/** Makes an editor show the fields instead of this name. */
export type Flat<T> = { [F in keyof T]: T[F] } & {};
/** An object as it travels. */
export type WireOf<F extends Fields> = Flat<
  { readonly [N in keyof F as F[N] extends Optional ? never : N]: Infer<F[N]> } & {
    readonly [N in keyof F as F[N] extends Optional ? N : never]?: Infer<F[N]>;
  }
>;
/** An object as a client reads it. */
export type ReadOf<F extends Fields> = Flat<
  { readonly [N in keyof F as F[N] extends Optional ? never : N]: Read<F[N]> } & {
    readonly [N in keyof F as F[N] extends Optional ? N : never]?: Read<F[N]>;
  }
>;
/** The type of a frame. */
export interface TypeOf<N extends string> {
  readonly type: N;
}

export const text: Kind<string, string> = { is: 'text' };
/** A text of at most `max` UTF-16 units. */
export const textUpTo = (max: number): Kind<string, string> => ({ is: 'text', max });
/** A safe integer from 0. */
export const count: Kind<number, number> = { is: 'count' };
/** An integer from `min` to `max`. */
export const whole = (min: number, max: number): Kind<number, number> => ({ is: 'whole', min, max });
export const timestamp: Kind<Timestamp, Timestamp> = { is: 'timestamp' };
/** Anything but true means false, and so does its absence. */
export const flag: Kind<boolean, boolean> = { is: 'flag' };
/** An optional field that is true; anything else is its absence. */
export const mark: Kind<true, true> = { is: 'mark' };
export const txId: Kind<TxId, TxId> = { is: 'txId' };
/** JSON text, or bytes. */
export const value: Kind<WireValue, Value> = { is: 'value' };
/** What a write stores. */
export const content: Kind<WireContent, Content> = { is: 'content' };
/** A part that is read by code which is loaded later. */
export const later = <Wire>(): Kind<Wire, unknown> => ({ is: 'later' });

/** A field that may be absent. */
export const optional = <W, R>(of: Kind<W, R>): Optional & { readonly of: Kind } & Types<W, R> => ({
  is: 'optional',
  of,
});
export const nullable = <W, R>(of: Kind<W, R>): Kind<W | null, R | null> => ({ is: 'nullable', of });
export const list = <W, R>(of: Kind<W, R>): Kind<readonly W[], readonly R[]> => ({ is: 'list', of });
/** A list with a kind for each place. */
export const tuple = <const K extends readonly Kind[]>(
  ...of: K
): Kind<{ readonly [I in keyof K]: Infer<K[I]> }, { readonly [I in keyof K]: Read<K[I]> }> => ({ is: 'tuple', of });
export const oneOf = <const N extends string>(...of: readonly N[]): Kind<N, N> => ({ is: 'oneOf', of });

/** An object with these fields; others are ignored. */
export const object = <F extends Fields>(of: F): ObjectForm<F> & Types<WireOf<F>, ReadOf<F>> => ({ is: 'object', of });

/** A frame of a type. */
export type FrameKind<N extends string, F extends Fields> = ObjectForm<F> & {
  readonly type: N;
} & Types<Flat<TypeOf<N> & WireOf<F>>, Flat<TypeOf<N> & ReadOf<F>>>;

/** Declares a frame: its validation, and the type that {@link Infer} takes from it. */
export const frame = <const N extends string, F extends Fields>(type: N, of: F): FrameKind<N, F> => ({
  is: 'object',
  type,
  of,
});

/** The kinds that a module declares its frames with. */
export const notation = {
  text,
  count,
  timestamp,
  mark,
  value,
  content,
  nullable,
  optional,
  list,
  tuple,
  object,
  frame,
};
export type Notation = typeof notation;
