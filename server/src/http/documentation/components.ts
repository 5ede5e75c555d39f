/** Schemas that stand once in the OpenAPI document, under `components`, and are referenced from there. */
import { isDeepStrictEqual } from 'node:util';

/** Keyword of a schema that is a component of the document: its name. */
export const COMPONENT = 'x-component';

/** The parts of an OpenAPI document that change here. */
interface OpenApi {
  readonly paths?: object;
  readonly components?: object;
}

/**
 * The document with the named schemas of its bodies moved to the components.
 * @throws Error for two different schemas of one name
 */
export function withComponents<D extends OpenApi>(document: D): D {
  const schemas: Record<string, unknown> = {};
  const paths = shared(document.paths, schemas);
  return { ...document, paths, components: { ...document.components, schemas } };
}

/** A value with references in the place of the named schemas, which are added to `schemas`. */
function shared(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => shared(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { [COMPONENT]: name, ...fields } = value as Readonly<Record<string, unknown>>;
  const schema = Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, shared(field, schemas)]));
  if (typeof name !== 'string') return schema;
  schemas[name] ??= schema;
  if (!isDeepStrictEqual(schemas[name], schema)) throw new Error(`Two different schemas have the name ${name}.`);
  return { $ref: `#/components/schemas/${name}` };
}
