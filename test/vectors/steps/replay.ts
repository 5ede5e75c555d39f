/** Gives a client machine the inputs of a trace, and compares its effects with those of the trace. */
import { isDeepStrictEqual } from 'node:util';
import type { Step, StepInput, StepTrace } from './format.js';
import { type Draws, Recorder } from './recorder.js';

/** The first step that differs, and the field. */
export interface StepDifference {
  readonly trace: string;
  /** Its place among the steps, from 0. */
  readonly step: number;
  readonly what: string;
  readonly expected: unknown;
  readonly got: unknown;
}

export interface StepFile {
  readonly format: 1;
  readonly protocol: string;
  readonly kind: 'steps';
  readonly sequences: readonly StepTrace[];
}

/** The fields to compare: all of a step beside its input. */
const FIELDS = ['out', 'status', 'writes', 'random', 'ids'] as const;

/** Replays the trace's draws. Any further draw is an invalid value. */
class RecordedDraws implements Draws {
  #random: readonly number[] = [];
  #ids: readonly string[] = [];

  next({ random = [], ids = [] }: Step): void {
    this.#random = random;
    this.#ids = ids;
  }

  readonly random = (): number => {
    const [first = Number.NaN, ...rest] = this.#random;
    this.#random = rest;
    return first;
  };

  readonly newId = (): string => {
    const [first = '', ...rest] = this.#ids;
    this.#ids = rest;
    return first;
  };
}

/** Undefined where all steps have the effects of the trace. */
export function replayTrace({ name, at, settings, steps }: StepTrace): StepDifference | undefined {
  const draws = new RecordedDraws();
  const recorder = new Recorder(settings, at, draws);
  for (const [index, step] of steps.entries()) {
    draws.next(step);
    const got = plain(recorder.step(inputOf(step), step.at));
    const what = FIELDS.find((field) => !isDeepStrictEqual(step[field], got[field]));
    if (what !== undefined) return { trace: name, step: index, what, expected: step[what], got: got[what] };
  }
  return undefined;
}

function inputOf(step: Step): StepInput {
  const { at, random, ids, out, status, writes, ...input } = step;
  return input;
}

/** As it would be read from a file. */
const plain = (step: Step): Step => JSON.parse(JSON.stringify(step)) as Step;
