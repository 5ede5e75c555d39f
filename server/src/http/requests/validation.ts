/** Checks requests against the schemas of their routes. */
import { IsochronError } from '@isochron/core';
import { Ajv, type ValidateFunction } from 'ajv';
import type { FastifySchemaValidationError } from 'fastify/types/schema.js';

const strict = new Ajv({ allErrors: false, strict: false, coerceTypes: false });
const coercing = new Ajv({ allErrors: false, strict: false, coerceTypes: true, useDefaults: true });

/** Query strings are text and are coerced; bodies are not. */
export function validatorFor(schema: unknown, httpPart: string | undefined): ValidateFunction {
  return (httpPart === 'body' ? strict : coercing).compile(schema as object);
}

/** The reason of a refusal: names the part of the request, and an unknown field or parameter. */
export function schemaError(errors: readonly FastifySchemaValidationError[], part: string): IsochronError {
  const [{ keyword, params, instancePath, message = 'is not valid' }] = errors as [FastifySchemaValidationError];
  if (keyword !== 'additionalProperties')
    return new IsochronError('INVALID_REQUEST', `${part}${instancePath} ${message}`);
  const name = JSON.stringify(String(params.additionalProperty).slice(0, 100));
  const what = part === 'querystring' ? `parameter ${name}` : `field ${name} in ${part}${instancePath}`;
  return new IsochronError('INVALID_REQUEST', `There is no ${what}. /openapi.json describes what there is.`);
}
