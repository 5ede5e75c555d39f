/** The events of a run, line by line, for people. Off by default: a run without a trace builds no text. */
import { type AnyMessage, IsochronError } from '@isochron/core';
import type { Input } from '@isochron/protocols';

export interface TraceLine {
  readonly step: number;
  readonly atMs: number;
  readonly where: string;
  readonly text: string;
}

export class Trace {
  readonly lines: TraceLine[] = [];

  constructor(
    readonly on: boolean,
    readonly time: { readonly now: number; readonly steps: number },
    readonly onLine: (line: TraceLine) => void = () => {},
  ) {}

  add(where: string, text: () => string): void {
    if (!this.on) return;
    const line = { step: this.time.steps, atMs: this.time.now, where, text: text() };
    this.lines.push(line);
    this.onLine(line);
  }
}

/** A line as it is printed. */
export const formatLine = ({ step, atMs, where, text }: TraceLine): string =>
  `${String(step).padStart(7)} ${atMs.toFixed(2).padStart(10)} ms  ${where.padEnd(12)} ${text}`;

/** A message in one line: its type and its fields, long texts cut. */
export function describeMessage(message: object): string {
  const { type, ...fields } = message as { readonly type?: string };
  const text = JSON.stringify(fields, (_key, value: unknown) =>
    Array.isArray(value) && value.length > 12 ? [...value.slice(0, 12), `… ${value.length}`] : value,
  );
  return `${type} ${text.length > 400 ? `${text.slice(0, 400)}…` : text}`;
}

/** An input of a machine that is no message, in a few words. */
export function describeInput(input: Input<AnyMessage>): string {
  if (input.kind === 'timer') return `timer ${input.timer}`;
  return input.kind === 'link' ? `link to ${input.node} ${input.up ? 'up' : 'down'}` : input.kind;
}

/** The code of an error, or else the name of its class. */
export const nameOf = (error: unknown): string =>
  error instanceof IsochronError ? error.code : error instanceof Error ? error.name : 'error';
