/** Text from a file or stdin, in pieces: inputs may be larger than memory. */
import { createReadStream, statSync } from 'node:fs';
import { TextDecoder } from 'node:util';
import { IsochronError } from '@isochron/core/errors';
import { UsageError } from '../failures.js';

/** Longest line, in UTF-16 units. A cluster accepts no document of this size. */
const MAX_LINE_LENGTH = 64 * 2 ** 20;

/** An input that is being read. */
export interface Input {
  readonly chunks: AsyncIterable<string>;
  /** Bytes in all; undefined for a pipe. */
  readonly size: number | undefined;
  /** Bytes read so far. */
  position(): number;
}

/** Opens a file, or stdin for `-`. @throws the system's error for a file that does not exist */
export function openInput(file: string): Input {
  if (file === '-' && process.stdin.isTTY) throw new UsageError('"-" reads from stdin: pipe something into it');
  const size = file === '-' ? undefined : statSync(file).size;
  const stream = file === '-' ? process.stdin : createReadStream(file);
  return withPosition(stream, size);
}

function withPosition(stream: AsyncIterable<Buffer | string>, size: number | undefined): Input {
  let position = 0;
  async function* chunks(): AsyncGenerator<string> {
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for await (const chunk of stream) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      position += bytes.length;
      yield decode(decoder, bytes);
    }
    yield decode(decoder, undefined);
  }
  return { chunks: chunks(), size, position: () => position };
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined): string {
  try {
    return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
  } catch (cause) {
    throw new IsochronError('VALUE_INVALID', 'the input is not UTF-8', { cause });
  }
}

/** All of an input. */
export async function readAll(file: string): Promise<string> {
  let text = '';
  for await (const chunk of openInput(file).chunks) text += chunk;
  return text;
}

/**
 * Lines without their ends (`\n` or `\r\n`). Not `readline`: that also divides at U+2028, which JSON texts may contain.
 * @throws IsochronError `VALUE_TOO_LARGE`
 */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
    if (rest.length > MAX_LINE_LENGTH) throw new IsochronError('VALUE_TOO_LARGE', 'a line of the input is too long');
  }
  if (rest !== '') yield rest;
}
