import type { AnyMessage, MessageSchema, Timestamp } from '@isochron/core';
import type { Envelope } from '@isochron/protocols';

/** The content of one frame on a link. */
export interface Frame<M extends AnyMessage> {
  readonly hlc: Timestamp;
  readonly envelopes: readonly Envelope<M>[];
}

/** A message after its way over a wire: every field encoded, validated and made anew. */
export function reencoded<M extends AnyMessage>(schema: MessageSchema<M>, message: AnyMessage): M {
  const { fields } = schema[message.type as M['type']];
  const copy: Record<string, unknown> = { type: message.type };
  const values: Readonly<Record<string, unknown>> = { ...message };
  for (const [name, kind] of Object.entries(fields) as [string, Coding][]) {
    copy[name] = kind.decode(structuredClone(kind.encode(values[name])));
  }
  return copy as M & typeof copy;
}

interface Coding {
  encode(value: unknown): unknown;
  decode(raw: unknown): unknown;
}
