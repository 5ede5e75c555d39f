/** All files, from one seed, with the same bytes on every machine. */
import { createHash } from 'node:crypto';
import { Random } from '@isochron/core';
import {
  OPERATION_PROTOCOLS,
  type OperationName,
  TRANSACTION_PROTOCOLS,
  type TransactionName,
} from '@isochron/protocols';
import { folds } from './folds/folds.js';
import type { Sequence } from './format.js';
import { OperationDriver } from './operations/drive.js';
import { backoff } from './pure/backoff.js';
import { channels } from './pure/channels.js';
import { documents } from './pure/documents.js';
import { errors } from './pure/errors.js';
import { exportedSessions } from './pure/exports.js';
import { keys } from './pure/keys.js';
import { patches } from './pure/patches.js';
import { values } from './pure/values.js';
import { queries } from './queries/queries.js';
import { TraceDriver } from './steps/drive.js';
import { RENEWAL_PROTOCOLS, STEP_PROTOCOLS, type StepProtocol, SUSPENSION_PROTOCOLS } from './steps/protocols.js';
import { RENEWAL_THEMES, SUSPENSION_THEMES, THEMES, type Theme } from './steps/themes.js';
import { TransactionDriver } from './transactions/drive.js';

export interface VectorFile {
  readonly name: string;
  readonly text: string;
}

export interface GenerateOptions {
  readonly seed: number;
  /** For each protocol. */
  readonly sequences: number;
}

export const DEFAULTS: GenerateOptions = { seed: 1, sequences: 240 };

const SEQUENCES_PER_TRACE = 3;

const namesOf = <T extends string>(table: Readonly<Record<T, unknown>>): T[] => Object.keys(table) as T[];

/** The last file, `manifest.json`, lists the others. */
export function generate(options: GenerateOptions): VectorFile[] {
  const files = [
    ...sessions(options),
    ...traces(options),
    ...renewals(options),
    ...suspensions(options),
    ...pure(options.seed),
  ];
  const digests = files.map(({ name, text }) => [name, createHash('sha256').update(text).digest('hex')]);
  const manifest = { format: 1, ...options, files: Object.fromEntries(digests) };
  return [...files, { name: 'manifest.json', text: `${JSON.stringify(manifest, null, 2)}\n` }];
}

function sessions({ seed, sequences }: GenerateOptions): VectorFile[] {
  return [
    ...namesOf(TRANSACTION_PROTOCOLS).map((protocol) => transactionFile(protocol, seed, sequences)),
    ...namesOf(OPERATION_PROTOCOLS).map((protocol) => operationFile(protocol, seed, sequences)),
  ];
}

function transactionFile(protocol: TransactionName, seed: number, count: number): VectorFile {
  const drawn = sequencesOf(protocol, seed, count, (name, random) =>
    TransactionDriver.sequence(protocol, name, random),
  );
  return sessionFile(protocol, 'transactions', drawn);
}

function operationFile(protocol: OperationName, seed: number, count: number): VectorFile {
  const drawn = sequencesOf(protocol, seed, count, (name, random) => OperationDriver.sequence(protocol, name, random));
  return sessionFile(protocol, 'operations', drawn);
}

/** A trace is as long as several sequences. */
function traces({ seed, sequences }: GenerateOptions): VectorFile[] {
  const count = Math.ceil(sequences / SEQUENCES_PER_TRACE);
  return STEP_PROTOCOLS.map((protocol) => traceFile('steps', protocol, seed, count, THEMES));
}

/** Traces of clients whose credentials expire: of both kinds of protocols, and of nodes that chain no commits. */
function renewals({ seed, sequences }: GenerateOptions): VectorFile[] {
  const count = Math.ceil(sequences / SEQUENCES_PER_TRACE);
  return RENEWAL_PROTOCOLS.map((protocol) => traceFile('renewals', protocol, seed, count, RENEWAL_THEMES));
}

/** Traces of clients whose nodes are suspended: twice as many as of others. */
function suspensions({ seed, sequences }: GenerateOptions): VectorFile[] {
  const count = Math.ceil((2 * sequences) / SEQUENCES_PER_TRACE);
  return SUSPENSION_PROTOCOLS.map((protocol) => traceFile('suspensions', protocol, seed, count, SUSPENSION_THEMES));
}

function traceFile(
  name: string,
  protocol: StepProtocol,
  seed: number,
  count: number,
  themes: readonly Theme[],
): VectorFile {
  const drawn = Array.from({ length: count }, (_, i) =>
    TraceDriver.trace(protocol, i, new Random(seedOf(seed, `${name}/${protocol.name}`, i)), themes),
  );
  return {
    name: `${name}-${protocol.name}.json`,
    text: linesOf({ format: 1, protocol: protocol.name, kind: 'steps' }, drawn),
  };
}

/** Each sequence has a seed of its own, so more sequences do not change the first ones. */
function sequencesOf<E>(
  protocol: string,
  seed: number,
  count: number,
  draw: (name: string, random: Random) => Sequence<E>,
): Sequence<E>[] {
  return Array.from({ length: count }, (_, i) => draw(`${protocol}/${i}`, new Random(seedOf(seed, protocol, i))));
}

/** 52 bits of a digest. */
const seedOf = (seed: number, protocol: string, index: number): number =>
  Number.parseInt(createHash('sha256').update(`${seed}/${protocol}/${index}`).digest('hex').slice(0, 13), 16);

/** One sequence in each line. */
function sessionFile(protocol: string, kind: string, drawn: readonly Sequence<unknown>[]): VectorFile {
  return { name: `sessions-${protocol}.json`, text: linesOf({ format: 1, protocol, kind }, drawn) };
}

function linesOf(head: object, drawn: readonly unknown[]): string {
  const lines = drawn.map((sequence) => JSON.stringify(sequence)).join(',\n');
  return `${JSON.stringify(head).slice(0, -1)},"sequences":[\n${lines}\n]}\n`;
}

function pure(seed: number): VectorFile[] {
  const contents = {
    keys: keys(),
    values: values(new Random(seed)),
    exports: exportedSessions(),
    errors: errors(),
    backoff: backoff(),
    patches: patches(),
    documents: documents(seed),
    channels: channels(new Random(seed)),
    folds: folds(seed),
    queries: queries(seed),
  };
  return Object.entries(contents).map(([name, content]) => ({
    name: `${name}.json`,
    text: `${JSON.stringify({ format: 1, ...content }, null, 1)}\n`,
  }));
}
