/** Calls that end with a callback, as promises: for HTTP routes. */
import { IsochronError, type NodeId } from '@isochron/core';
import type { AnswerOf, AnyRequestMap, Done, RequestOf, RequestPort, RequestType } from '@isochron/sessions';

/** The result of a call. */
export const promised = <T>(call: (done: Done<T>) => void): Promise<T> =>
  new Promise((resolve, reject) => {
    call((result) => {
      if (result instanceof IsochronError) reject(result);
      else resolve(result);
    });
  });

/** The answer to a request. */
export const answerTo = <R extends AnyRequestMap, T extends RequestType<R>>(
  port: RequestPort<R>,
  request: RequestOf<R, T>,
  node?: NodeId,
): Promise<AnswerOf<R, T>> => promised((done) => port.ask(request, done, node));
