/** autocannon with checked answers. */
import autocannon, { type Instance, type Request, type Result } from 'autocannon';

/** A request that is repeated in turn. */
export interface CannonRequest {
  readonly request: Request;
  /** Answers with another status are counted by autocannon, and not checked. */
  readonly status: number;
  /**
   * @param context of the connection, emptied after its last request @throws Error for a wrong answer, which ends the
   * load
   */
  answered(body: string, context: object): void;
}

/** Interval at which autocannon checks its clock, ms: the precision of its end. */
const SAMPLE_MS = 50;

/**
 * Loads one server.
 * @param connections with one request in flight on each
 * @throws the error of the first failed check
 */
export async function fire(
  url: string,
  requests: readonly CannonRequest[],
  connections: number,
  durationMs: number,
): Promise<Result> {
  let failure: unknown;
  let instance: Instance | undefined;
  const guarded = requests.map(({ request, status, answered }): Request => {
    const onResponse = (got: number, body: string, context: object): void => {
      if (got !== status || failure !== undefined) return;
      try {
        answered(body, context);
      } catch (error) {
        failure = error;
        instance?.stop();
      }
    };
    return { ...request, onResponse };
  });
  const result = await new Promise<Result>((resolve, reject) => {
    const options = { url, requests: guarded, connections, duration: durationMs / 1000, sampleInt: SAMPLE_MS };
    instance = autocannon(options, (error: unknown, done) => (error ? reject(error) : resolve(done)));
  });
  if (failure !== undefined) throw failure;
  return result;
}
