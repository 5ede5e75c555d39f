/** The requests to the coordinators of a region for clients. */
import type { IsochronError } from '@isochron/core';
import type { ClientRequestMap, LiveResp, OperationRequestMap } from '@isochron/protocols';
import type { AnswerOf, RequestHandler, RequestOf, RequestPort } from './request-port.js';

/** A scope of a live reader that has ended, and why. */
export interface EndedScope {
  readonly watch: number;
  readonly error: IsochronError;
}

/** An answer to a live reader. Scopes end where access rules refuse them. */
export type LiveAnswer = LiveResp & { readonly ended?: readonly EndedScope[] };

/** The requests of interactive transactions and of readers of changes, by type, each with its answer. */
export type CoordinatorRequests = Omit<ClientRequestMap, 'LiveReq'> & {
  readonly LiveReq: { readonly request: ClientRequestMap['LiveReq']['request']; readonly answer: LiveAnswer };
};

/** The types of the requests to a coordinator. */
export type CoordinatorRequestType = keyof CoordinatorRequests;

/** A request to a coordinator, without its reference. */
export type CoordinatorRequest<T extends CoordinatorRequestType> = RequestOf<CoordinatorRequests, T>;

/** The answer of a coordinator to a type of request. */
export type CoordinatorAnswer<T extends CoordinatorRequestType> = AnswerOf<CoordinatorRequests, T>;

/**
 * A coordinator of interactive transactions, and the change feed of its node. Another node of the region serves the
 * transactions that it has opened.
 */
export type CoordinatorPort = RequestPort<CoordinatorRequests>;

/** A coordinator that takes requests of one type. */
export interface CoordinatorPortFor<T extends CoordinatorRequestType> {
  ask: RequestHandler<CoordinatorRequests, T>;
}

/** The coordinator of single operations on a node. */
export type OperationsPort = RequestPort<OperationRequestMap>;
