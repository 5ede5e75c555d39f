/**
 * Scenarios as text, after the test data of etcd's raft: commands, and below each its output. A script is played in a
 * world on a virtual clock, and its output is written in place of the expected one: an equal text means no change. The
 * language is described in the README of `paris/testdata`.
 */
import { isOperationName } from '@isochron/protocols/session-rules';
import { operationLanguage } from './operation-script.js';
import { COMMANDS, sessionCommand, setUp } from './script-commands.js';
import { ClusterOptions, type Play } from './script-scene.js';
import { ScriptError, Words } from './script-words.js';

/** The output of a command is indented. */
const INDENT = '  ';

/** A line of a script that is kept as it is, or a command with its expected output. */
interface Part {
  readonly line: number;
  readonly text: string;
  readonly isCommand: boolean;
  readonly shown: readonly string[];
}

/**
 * Plays a script and returns its text with the output of the commands.
 * @throws ScriptError with the file and line, when a command is wrong, a condition does not come true, or a node stops
 */
export function playScript(file: string, text: string): string {
  let play: Play | undefined;
  const played = parse(file, text).map((part) => {
    if (!part.isCommand) return part;
    try {
      const words = new Words(part.text);
      if (words.take('cluster')) {
        if (play !== undefined) throw new ScriptError('there is a cluster already');
        play = begin(new ClusterOptions(words));
        const { partitions } = play.scene.world.topology;
        return {
          ...part,
          shown: [`partitions: ${partitions.map((p) => `${p.id} ${p.regions.join('+')}`).join(', ')}`],
        };
      }
      if (play === undefined) throw new ScriptError('a script begins with "cluster"');
      const shown = play.carryOut(words);
      words.end();
      if (play.scene.world.failure !== undefined) throw play.scene.world.failure;
      return { ...part, shown };
    } catch (error) {
      throw new ScriptError(`${file}:${part.line}: ${part.text}\n${INDENT}${messageOf(error)}`, { cause: error });
    }
  });
  return played.map(({ text, shown }) => [text, ...shown.map((line) => INDENT + line)].join('\n')).join('\n');
}

/** The different output of two texts of the same script, by file and line; empty when they are the same. */
export function scriptDifferences(file: string, expected: string, played: string): string {
  const actual = parse(file, played);
  return parse(file, expected)
    .flatMap(({ line, text, shown }, i) => {
      const now = actual[i]!.shown;
      if (shown.join('\n') === now.join('\n')) return [];
      return [`${file}:${line}: ${text}`, ...differences(shown, now).map((change) => INDENT + change)];
    })
    .join('\n');
}

/** The protocol decides which operations exist. */
function begin(options: ClusterOptions): Play {
  const protocol = options.take('protocol', 'paris');
  if (isOperationName(protocol)) return operationLanguage(protocol, options);
  const scene = setUp(protocol, options);
  return {
    scene,
    carryOut: (words) => {
      if (!Object.hasOwn(COMMANDS, words.peek)) return sessionCommand(scene, words);
      const command = words.next('a command');
      return COMMANDS[command]!(scene, words);
    },
  };
}

function parse(file: string, text: string): Part[] {
  const parts: (Part & { shown: string[] })[] = [];
  text.split('\n').forEach((line, i) => {
    if (line.startsWith(INDENT) && line.trim() !== '') {
      const last = parts.at(-1);
      if (last === undefined || !last.isCommand) throw new ScriptError(`${file}:${i + 1}: no command shows this`);
      last.shown.push(line.slice(INDENT.length));
      return;
    }
    const isCommand = line.trim() !== '' && !line.startsWith('#');
    parts.push({ line: i + 1, text: line, isCommand, shown: [] });
  });
  return parts;
}

/** The removed (`-`) and added (`+`) lines, between the common beginning and end. */
function differences(before: readonly string[], after: readonly string[]): string[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end++;
  const middle = (lines: readonly string[]) => lines.slice(start, lines.length - end);
  return [
    ...before.slice(0, start).map((line) => `  ${line}`),
    ...middle(before).map((line) => `- ${line}`),
    ...middle(after).map((line) => `+ ${line}`),
    ...before.slice(before.length - end).map((line) => `  ${line}`),
  ];
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
