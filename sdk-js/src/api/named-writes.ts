import { OutcomeUnknownError } from '@isochron/client/errors';
import type { Committed } from '@isochron/client/session/outcome';

/** Limit of the remembered names. */
const MAX_NAMED = 10_000;

/** Writes that the application has named: a call with the id of an earlier write is the same write. */
export class NamedWrites {
  readonly #results = new Map<string, Promise<unknown>>();

  /**
   * Writes, unless a write of this id has happened or may have happened: then its result, or OUTCOME_UNKNOWN again
   * until that is known. A write without effect is done anew.
   * @param resultOf the result of a commit that was undecided; by default the commit itself
   */
  run<T>(
    id: string | undefined,
    write: () => Promise<T>,
    resultOf: (commit: Committed) => unknown = (commit) => commit,
  ): Promise<T> {
    if (id === undefined) return write();
    const results = this.#results;
    const known = results.get(id);
    if (known !== undefined) return known as Promise<T>;
    const result = write();
    results.set(id, result);
    if (results.size > MAX_NAMED) results.delete(results.keys().next().value!);
    result.catch(async (error: unknown) => {
      const { state, timestamp = 0 } =
        error instanceof OutcomeUnknownError ? await error.outcome : { state: 'aborted' };
      if (state === 'aborted') results.delete(id);
      if (state === 'committed')
        results.set(id, Promise.resolve(resultOf({ timestamp, txId: (error as OutcomeUnknownError).txId })));
    });
    return result;
  }
}
