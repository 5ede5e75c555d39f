/** Tables of the requests that come from outside of a node's machines. */
import type { AnyMessage } from '@isochron/core';

/** For each type of request the type of its answer, null for none, and the machine that serves it. */
export type RequestTable = {
  readonly [type: string]: { readonly answer: string | null; readonly machine: string };
};

/** The requests of a table, by type, and the answer to each; undefined for a request without an answer. */
export type RequestMap<Table extends RequestTable, M extends AnyMessage> = {
  readonly [T in keyof Table & string]: {
    readonly request: Extract<M, { readonly type: T }>;
    readonly answer: Table[T]['answer'] extends string ? Extract<M, { readonly type: Table[T]['answer'] }> : undefined;
  };
};
