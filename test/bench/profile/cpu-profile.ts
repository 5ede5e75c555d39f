/** CPU time from a V8 profile: by function, and by part of the system. */
import { COLLECTION, NATIVE, partOf } from './parts.js';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  readonly children?: readonly number[];
}

/** The fields of a `.cpuprofile` that are used. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples?: readonly number[];
  /** Microseconds between a sample and the previous one. */
  readonly timeDeltas?: readonly number[];
}

export interface FunctionTime {
  readonly name: string;
  /** Share of the time in which the process was not idle. */
  readonly share: number;
}

const IDLE = '(idle)';

/** The busiest functions first. */
export function busiestFunctions(profile: CpuProfile, most: number): FunctionTime[] {
  const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node)]));
  const { times, busy } = selfTimes(profile, (id) => names.get(id) ?? '');
  const shares = [...times].map(([name, us]) => ({ name, share: us / busy }));
  return shares.sort((a, b) => b.share - a.share).slice(0, most);
}

/**
 * Shares of the time in which the thread was not idle, by part. A function without a file, such as a built-in, belongs
 * to its caller's part.
 */
export function sharesByPart(profile: CpuProfile, rules: Parameters<typeof partOf>[0]): ReadonlyMap<string, number> {
  const parts = new Map<number, string>();
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const visit = (node: ProfileNode, caller: string): void => {
    const stack: [ProfileNode, string][] = [[node, caller]];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const [each, above] = next;
      const part = partOfNode(each, above, rules);
      parts.set(each.id, part);
      for (const child of each.children ?? []) stack.push([byId.get(child)!, part]);
    }
  };
  const called = new Set(profile.nodes.flatMap(({ children = [] }) => children));
  for (const node of profile.nodes) if (!called.has(node.id)) visit(node, NATIVE);
  const { times, busy } = selfTimes(profile, (id) => parts.get(id) ?? NATIVE);
  return new Map([...times].map(([part, us]) => [part, us / busy]));
}

function partOfNode({ callFrame }: ProfileNode, caller: string, rules: Parameters<typeof partOf>[0]): string {
  const { functionName, url } = callFrame;
  if (url !== '') return partOf(rules, url);
  if (functionName === IDLE) return IDLE;
  if (functionName === '(garbage collector)') return COLLECTION;
  return functionName === '(program)' || functionName === '(root)' ? NATIVE : caller;
}

/** Time by name, µs, without idle time. */
function selfTimes({ samples = [], timeDeltas = [] }: CpuProfile, nameOfId: (id: number) => string) {
  const times = new Map<string, number>();
  let busy = 0;
  samples.forEach((id, i) => {
    const name = nameOfId(id);
    if (name === IDLE) return;
    const us = Math.max(0, timeDeltas[i] ?? 0);
    busy += us;
    times.set(name, (times.get(name) ?? 0) + us);
  });
  return { times, busy };
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  if (url === '') return functionName;
  const file = url
    .replace(/^.*\/(?:node_modules|packages)\//, '')
    .replace(/^file:\/\/.*?\/(server|sdk-js|test)\//, '$1/');
  return `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
}

/** Profiles as text: for each process its busiest functions. */
export function profileText(process: string, functions: readonly FunctionTime[]): string {
  const lines = functions.map(({ name, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
  return [`${process}:`, ...lines].join('\n');
}
