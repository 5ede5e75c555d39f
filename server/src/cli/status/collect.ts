/** Asks every node of a cluster for its status. */
import { types } from 'node:util';
import { isErrorCode } from '@isochron/core/error-codes';
import { IsochronError } from '@isochron/core/errors';
import type { EndpointOptions } from '../data/client.js';
import { connectionReason, request } from './request.js';
import {
  type ClusterAnswer,
  isCluster,
  isProblem,
  type NodeAnswer,
  type Obstacle,
  type StabilityAnswer,
} from './shape.js';

/** One node: its status, or the reason why there is none. */
export interface NodeReport {
  readonly region: string;
  readonly node: string;
  readonly api: string;
  readonly status: NodeAnswer | null;
  readonly stability: StabilityAnswer | null;
  /** Reasons why it is not ready; empty on a ready node, and without a status. */
  readonly unready: readonly Obstacle[];
  readonly error: string | null;
}

/** All nodes of a cluster, in the order of its file. */
export interface ClusterReport {
  readonly cluster: string;
  readonly protocol: string;
  readonly nodes: readonly NodeReport[];
}

const TIMEOUT_MS = 3000;

/** The first answer of the endpoints. @throws the last endpoint's failure */
export async function askCluster(options: EndpointOptions): Promise<ClusterAnswer> {
  let failure: unknown;
  for (const endpoint of options.endpoint) {
    try {
      return await askNode(endpoint.replace(/^ws/, 'http'), options);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Asks every node at once. @throws IsochronError when none of the endpoints answers */
export async function collect(options: EndpointOptions): Promise<ClusterReport> {
  const answer = await askCluster(options);
  const { cluster, protocol } = answer;
  return { cluster, protocol, nodes: await Promise.all(nodesOf(answer).map((node) => report(node, options))) };
}

/** Every node of a cluster, in the order of its file. */
export const nodesOf = ({ regions }: ClusterAnswer): Pick<NodeReport, 'region' | 'node' | 'api'>[] =>
  regions.flatMap((region) => region.nodes.map(({ id, api }) => ({ region: region.id, node: id, api })));

/** The reason why an answer is ignored. */
export const anotherNode = (id: string): string => `another node answers there: ${id}`;

const nothing = { status: null, stability: null, unready: [] } as const;

async function report(node: Pick<NodeReport, 'region' | 'node' | 'api'>, access: Access): Promise<NodeReport> {
  try {
    const answer = await askNode(node.api, access);
    const { node: status, stability, unready = [] } = answer;
    if (status.node === node.node) return { ...node, status, stability, unready, error: null };
    return { ...node, ...nothing, error: anotherNode(status.node) };
  } catch (error) {
    return { ...node, ...nothing, error: error instanceof IsochronError ? error.message : String(error) };
  }
}

/** What a node asks of its callers, and what they ask of it. */
export type Access = Omit<EndpointOptions, 'endpoint'>;

const askNode = (base: string, access: Access): Promise<ClusterAnswer> =>
  ask(base, access, { path: '/v1/cluster' }, isCluster);

/** A request to a node: a GET, or with a body a POST. */
export interface NodeRequest {
  readonly path: string;
  readonly body?: object;
  /** Default 3 s. */
  readonly timeoutMs?: number;
  /** Ends the request early. */
  readonly signal?: AbortSignal;
}

/**
 * The answer of one node, when it has the shape that its reader relies on.
 * @throws IsochronError `CONNECTION_LOST`, or the refusal of the node
 */
export async function ask<T>(
  base: string,
  access: Access,
  request: NodeRequest,
  isAnswer: (answer: unknown) => answer is T,
): Promise<T> {
  return (await askForText(base, access, request, isAnswer)).answer;
}

/** The answer of one node, as for `ask`, with its text. */
export async function askForText<T>(
  base: string,
  { apiKey, ca }: Access,
  { path, body, timeoutMs = TIMEOUT_MS, signal }: NodeRequest,
  isAnswer: (answer: unknown) => answer is T,
): Promise<{ answer: T; text: string }> {
  const headers = {
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const post = body === undefined ? {} : { body: JSON.stringify(body) };
  let status: number;
  let text: string;
  let answer: unknown;
  try {
    const limit = AbortSignal.timeout(timeoutMs);
    const signals = signal === undefined ? limit : AbortSignal.any([limit, signal]);
    ({ status, text } = await request(`${base}${path}`, { headers, signal: signals, ca, ...post }));
    answer = JSON.parse(text);
  } catch (cause) {
    throw new IsochronError('CONNECTION_LOST', `no node answers at ${base} (${reasonOf(cause, timeoutMs)})`, { cause });
  }
  if (isAnswer(answer)) return { answer, text };
  if (isProblem(answer) && isErrorCode(answer.code)) throw new IsochronError(answer.code, answer.detail);
  throw new IsochronError(
    'CONNECTION_LOST',
    `the server at ${base} (${status}) is not an Isochron node of this version`,
  );
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!types.isNativeError(error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer in ${timeoutMs} ms`;
  if (error instanceof SyntaxError) return 'the answer is not JSON';
  return 'code' in error && typeof error.code === 'string'
    ? connectionReason(error.code, error.message)
    : error.message;
}
