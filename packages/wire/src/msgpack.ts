import { MalformedMessage } from '@isochron/core';
// Not the main entry, for two reasons. Its native extractor returns strings that are slices of the whole frame's text,
// so that one key kept in a cache keeps the frame alive (3 KB for a key of 19 characters). And it compiles code for
// record structures that the peer names; this build never evaluates anything.
import { addExtension, Packr } from 'msgpackr/index-no-eval';

// `copyBuffers`: a small value must not keep the socket's chunk alive. `int64AsType`: never a bigint, whatever a peer
// encodes.
const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  encodeUndefinedAsNil: true,
  copyBuffers: true,
  int64AsType: 'number',
});

// Nothing here is an extension. msgpackr reads some by default: among them references, with which 500 bytes become a
// value of millions of parts, and regular expressions.
for (let type = 0; type < 256; type++) {
  addExtension({
    type,
    unpack: () => {
      throw new MalformedMessage(`not MessagePack: extension ${type}`);
    },
  });
}

/** Encodes nested arrays of numbers, strings, booleans, nulls and bytes as MessagePack. */
export const pack = (raw: unknown): Uint8Array => packr.pack(raw);

/** Decodes one MessagePack value that fills `bytes` to the end. Throws {@link MalformedMessage}. */
export function unpack(bytes: Uint8Array): unknown {
  let value: unknown;
  let length = 0;
  try {
    // Not `unpack`: where bytes follow the value, that writes the whole value as JSON for its message.
    packr.unpackMultiple(bytes, (first, _start, end = 0) => {
      value = first;
      length = end;
      return false;
    });
  } catch (error) {
    if (error instanceof MalformedMessage) throw error;
    const detail = error instanceof Error ? error.message : String(error);
    throw new MalformedMessage(`not MessagePack: ${detail.slice(0, 200)}`, { cause: error });
  }
  if (length !== bytes.length) throw new MalformedMessage(`not MessagePack: ${bytes.length - length} bytes too many`);
  return value;
}
