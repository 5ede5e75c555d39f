/** What the frames of both sides share: comments, structs, and the objects in frames. */
import * as answers from '@isochron/wire/session-frames/answers';
import type { Kind, ObjectForm } from '@isochron/wire/session-frames/notation';
import * as requests from '@isochron/wire/session-frames/requests';
import {
  compounds,
  fieldsOf,
  fieldType,
  isMark,
  isRequired,
  type SwiftField,
  type SwiftType,
  swiftTypeOf,
} from './kinds.js';
import { block, Documentation, declared, doc } from './swift.js';

/** The declaration of a frame. */
export type Frame = ObjectForm & { readonly type: string };

/** The folder of the declarations. */
export const FOLDER = 'packages/wire/src/session-frames';
const DOCUMENTED = ['answers', 'operation-answers', 'feed-answers', 'authenticated', 'requests'].map(
  (name) => new Documentation(`${FOLDER}/${name}.ts`),
);
const CONSTANTS = new Map<unknown, string>(
  Object.entries({ ...answers, ...requests }).map(([name, value]) => [value, `const ${name}`]),
);

interface Comments {
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** The comments of a frame or an object, at the constant that holds it or at its place in a function. */
export function comments(kind: ObjectForm): Comments {
  const { type } = kind;
  const place =
    CONSTANTS.get(kind) ?? (type === undefined ? `const ${swiftTypeOf(kind).name}\\b` : `(?:${type}: |return )frame`);
  const found = DOCUMENTED.find((file) => file.has(place) && (type === undefined || file.has(`frame\\('${type}`)));
  const fields = Object.entries(found?.members(place) ?? {}).map(([name, text]) => [name, inSwift(text)]);
  return { text: inSwift(found?.of(place) ?? ''), fields: Object.fromEntries(fields) };
}

const inSwift = (text: string): string => text.replace(/\bnull\b/g, 'nil').replace(/\bNull\b/g, 'Nil');

/** The lines of a comment; none for an empty text. */
export const commented = (indent: string, text = ''): string[] => (text === '' ? [] : doc(indent, text));

/** A struct. In a request, fields that may be absent have a default. */
export function struct(name: string, kind: ObjectForm, fields: readonly SwiftField[], isRequest = false): string {
  const { text, fields: docs } = comments(kind);
  const access = kind.type === undefined && swiftTypeOf(kind).declared === 'public' ? 'public ' : '';
  const member = (field: SwiftField): string => {
    const head = `    ${access}${isRequest && !isRequired(field) ? 'var' : 'let'} ${declared(field.label)}`;
    return isRequest && isMark(field) ? `${head} = false` : `${head}: ${fieldType(field)}`;
  };
  return [
    ...commented('', text),
    block(
      `${access}struct ${name}: ${kind.type === undefined ? 'Hashable, ' : ''}Sendable`,
      fields.flatMap((field) => [...commented('    ', docs[field.name]), member(field)]),
    ),
  ].join('\n');
}

/** The objects and tuples in frames, each type once. */
export const partsOf = (frames: readonly Frame[]): readonly [Kind, SwiftType][] => [
  ...new Map(
    frames
      .flatMap(({ of }) => Object.values(of).flatMap(compounds))
      .map((kind) => [swiftTypeOf(kind).name, [kind, swiftTypeOf(kind)] as [Kind, SwiftType]]),
  ).values(),
];

/** The fields of an object. */
export const objectFields = (kind: Kind, { labels }: SwiftType): SwiftField[] =>
  fieldsOf((kind as ObjectForm).of, labels);

/** The structs of the objects that are declared in generated files. */
export const declarations = (parts: readonly [Kind, SwiftType][], isRequest: boolean): string[] =>
  parts
    .filter(([, type]) => type.declared !== undefined)
    .map(([kind, type]) => struct(type.name, kind as ObjectForm, objectFields(kind, type), isRequest));
