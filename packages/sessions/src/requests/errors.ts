import { IsochronError } from '@isochron/core';

/** The project's error for any thrown value. An unknown one becomes `INTERNAL`, which does not show its details. */
export const asIsochronError = (thrown: unknown): IsochronError =>
  thrown instanceof IsochronError
    ? thrown
    : new IsochronError('INTERNAL', 'The server could not answer the request. Its log has the reason.', {
        cause: thrown,
      });
