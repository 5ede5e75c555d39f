/** Samples of session frames, made from their declarations: tests build theirs from these, or damage them. */
import { SERVER_FRAMES } from '@isochron/wire/session-frames/answers';
import { authenticatedAnswer } from '@isochron/wire/session-frames/authenticated';
import { type Kind, notation } from '@isochron/wire/session-frames/notation';
import { operationAnswers } from '@isochron/wire/session-frames/operation-answers';
import { queueAnswers } from '@isochron/wire/session-frames/queue-answers';
import { HelloFrame, REQUEST_FRAMES } from '@isochron/wire/session-frames/requests';

const { got, written } = operationAnswers(notation);
const { settled } = queueAnswers(notation);
/** The declarations of all frames of a client, and of a node. */
export const ALL_CLIENT_FRAMES = [HelloFrame, ...Object.values(REQUEST_FRAMES)] as const;
export const ALL_SERVER_FRAMES = [...SERVER_FRAMES, got, written, authenticatedAnswer(notation), settled] as const;

/** Samples of texts, by the name of their field. */
const TEXTS: Readonly<Record<string, string>> = {
  key: 'default/a',
  keys: 'default/a',
  keyspace: 'default',
  attemptRegions: 'virginia',
  avoids: 'oregon',
  start: 'default/a',
  end: 'default/b',
  scope: 'default/',
  /** Of a queue. */
  id: 'q'.repeat(22),
};
const LEAVES = {
  count: 1,
  timestamp: 200_000_000_000_000,
  flag: true,
  mark: true,
  txId: 'abcdefghijklmnopqrstuv.0',
  value: { bytes: 'AAEC' },
  content: { operations: '[{"op":"increment","path":"","by":1}]' },
  later: { seen: [1], region: 'virginia' },
};

/** Which optional fields a sample has. */
export type Extent = 'all fields' | 'no optional field';

/** A sample of a frame. */
export const sampleOf = <W>(kind: Kind<W>, extent: Extent = 'all fields'): W => sample(kind, extent, '') as W;

function sample(kind: Kind, extent: Extent, name: string): unknown {
  switch (kind.is) {
    case 'text':
      return TEXTS[name] ?? 'text';
    case 'whole':
      return kind.min;
    case 'optional':
    case 'nullable':
      return sample(kind.of, extent, name);
    case 'list':
      return [sample(kind.of, extent, name)];
    case 'tuple':
      return kind.of.map((part) => sample(part, extent, name));
    case 'oneOf':
      return kind.of[0];
    case 'object': {
      const has = Object.entries(kind.of).filter(([, field]) => extent === 'all fields' || field.is !== 'optional');
      const fields = has.map(([field, of]) => [field, sample(of, extent, field)]);
      return { ...(kind.type === undefined ? {} : { type: kind.type }), ...Object.fromEntries(fields) };
    }
    default:
      return LEAVES[kind.is];
  }
}

/** Values with one damaged or missing part, each of which the kind refuses. Undefined stands for a missing part. */
export function damagesOf(kind: Kind): unknown[] {
  switch (kind.is) {
    case 'text':
      return [undefined, null, 1, {}, ...(kind.max === undefined ? [] : ['x'.repeat(kind.max + 1)])];
    case 'whole':
      return [undefined, null, String(kind.min), kind.min - 1, kind.max + 1, kind.min + 0.5];
    case 'count':
    case 'timestamp':
      return [undefined, null, '1', -1, 0.5, 2 ** 53];
    case 'txId':
      return [undefined, null, 1, 'short.0'];
    case 'value':
      return [undefined, 5, true, {}, { bytes: 5 }];
    case 'content':
      return [undefined, 5, true, {}, { operations: 5 }];
    case 'optional':
      return damagesOf(kind.of).filter((damage) => damage != null);
    case 'nullable':
      return damagesOf(kind.of).filter((damage) => damage !== null);
    case 'list':
      return [undefined, null, 'text', {}, ...damagesOf(kind.of).map((damage) => [damage])];
    case 'tuple':
      return [undefined, null, {}, [], ...damagedParts(kind.of)];
    case 'oneOf':
      return [undefined, null, 0, 'another'];
    case 'object':
      return [undefined, null, 'text', ...damagedFields(kind, kind.of)];
    default:
      return [];
  }
}

const damagedParts = (parts: readonly Kind[]): unknown[] =>
  parts.flatMap((part, i) => damagesOf(part).map((damage) => parts.map((of, j) => (i === j ? damage : sampleOf(of)))));

const damagedFields = (kind: Kind, fields: Readonly<Record<string, Kind>>): unknown[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    damagesOf(field).map((damage) => ({ ...(sampleOf(kind) as object), [name]: damage })),
  );
