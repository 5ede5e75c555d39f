/** Where CPU time goes: the functions with the most time of their own in a CPU profile of Node. */

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

/** The parts of a `.cpuprofile` that are read here. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples?: readonly number[];
  /** Microseconds between a sample and the one before. */
  readonly timeDeltas?: readonly number[];
}

export interface FunctionTime {
  readonly name: string;
  /** Share of the time in which the process was not idle. */
  readonly share: number;
}

/** The busiest functions first. */
export function busiestFunctions(profile: CpuProfile, most: number): FunctionTime[] {
  const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node)]));
  const times = new Map<string, number>();
  let busy = 0;
  profile.samples?.forEach((id, i) => {
    const name = names.get(id) ?? '';
    const us = profile.timeDeltas?.[i] ?? 0;
    if (name === '(idle)') return;
    busy += us;
    times.set(name, (times.get(name) ?? 0) + us);
  });
  const shares = [...times].map(([name, us]) => ({ name, share: us / busy }));
  return shares.sort((a, b) => b.share - a.share).slice(0, most);
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
