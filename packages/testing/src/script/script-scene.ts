/** The parts of every script, whatever its protocol: places, times, keys, links, and the commands about them. */
import {
  type ClusterSpec,
  HLC_TICKS_PER_MS,
  type NodeId,
  packWall,
  type QualifiedKey,
  type Timestamp,
  type Topology,
  type WallMs,
} from '@isochron/core';
import { DEFAULT_SETTINGS, type ProtocolSettings } from '@isochron/protocols/kernel/settings';
import { keyIn } from '../world/clients.js';
import type { WorldOptions } from '../world/world-of.js';
import type { Pattern } from './script-network.js';
import { durationOf, numberOf, oneOfWords, ScriptError, type Words } from './script-words.js';

/** The functions of a world that a script uses, whatever its messages. */
export interface SceneWorld {
  readonly topology: Topology;
  readonly now: WallMs;
  readonly sent: readonly unknown[];
  readonly diskMs: Map<NodeId, number>;
  readonly failure: unknown;
  node(id: NodeId): { readonly up: boolean; skewMs: number };
  run(ms: number): void;
  cut(a: NodeId, b: NodeId): void;
  heal(a: NodeId, b: NodeId): void;
  crash(id: NodeId): void;
  restart(id: NodeId): void;
}

/** The world, the links, and the names of keys and times. */
export abstract class Scene {
  abstract readonly network: { hold(pattern: Pattern): void; drop(pattern: Pattern): void; pass(): void };
  /** How many delivered messages `show sent` has shown or skipped. */
  shownMessages = 0;
  readonly #start: Timestamp;
  readonly #startMs: number;
  readonly #keys = new Map<QualifiedKey, string>();

  /**
   * @param delays one-way delays of links, in ms, by their ends in alphabetical order (`a|b`); of all others under the
   * empty name
   * @param types of messages
   */
  constructor(
    readonly world: SceneWorld,
    readonly delays: Map<string, number>,
    readonly types: readonly string[],
  ) {
    this.#startMs = world.now;
    this.#start = packWall(world.now);
  }

  /** Virtual time since the script began, in ms. */
  get elapsedMs(): number {
    return this.world.now - this.#startMs;
  }

  /**
   * A timestamp in milliseconds since the start, with the logical part: `120`, `120+1`, and `120-1` for the last one
   * before `120`; `none` for zero.
   */
  time(ts: Timestamp | null | undefined): string {
    if (ts === undefined || ts === null || ts === 0) return 'none';
    const ticks = ts - this.#start;
    const ms = Math.round(ticks / HLC_TICKS_PER_MS);
    const logical = ticks - ms * HLC_TICKS_PER_MS;
    return logical === 0 ? `${ms}` : `${ms}${logical > 0 ? '+' : '-'}${Math.abs(logical)}`;
  }

  /** `name@3`: the first key that begins with the name and lies in partition 3. */
  key(word: string): QualifiedKey {
    const [, name, partition] = /^([a-z]+)@(\d+)$/.exec(word) ?? [];
    if (name === undefined || partition === undefined) throw new ScriptError(`"${word}" is no key: name@partition`);
    this.partition(partition);
    const key = keyIn(this.world, Number(partition), name);
    this.#keys.set(key, word);
    return key;
  }

  keyName(key: QualifiedKey): string {
    return this.#keys.get(key) ?? key;
  }

  partition(word: string): number {
    const partition = numberOf(word);
    if (partition >= this.world.topology.partitions.length) throw new ScriptError(`there is no partition ${word}`);
    return partition;
  }

  node(word: string): NodeId {
    if (!this.world.topology.hasNode(word)) throw new ScriptError(`there is no node "${word}"`);
    return word;
  }

  running(word: string): NodeId {
    if (!this.world.node(this.node(word)).up) throw new ScriptError(`${word} is down`);
    return word;
  }
}

/** Carries a command out and returns the lines it shows. */
type SceneCommand = (stage: Scene, words: Words) => readonly string[];

export const SCENE_COMMANDS: Readonly<Record<string, SceneCommand>> = {
  run: (stage, words) => {
    const to = words.option('to');
    const ms = to === undefined ? durationOf(words.next('a duration')) : durationOf(to) - stage.elapsedMs;
    if (ms < 0) throw new ScriptError(`it is ${stage.elapsedMs} ms already`);
    stage.world.run(ms);
    return [];
  },

  delay: (stage, words) => {
    const ms = durationOf(words.next('a duration'));
    const [a, b] = [words.option('between'), words.option('and')];
    if (a === undefined || b === undefined) stage.delays.set('', ms);
    else stage.delays.set(linkOf(stage.node(a), stage.node(b)), ms);
    return [];
  },

  cut: (stage, words) => {
    for (const [a, b] of linksOf(stage, words)) stage.world.cut(a, b);
    return [];
  },

  heal: (stage, words) => {
    for (const [a, b] of linksOf(stage, words)) stage.world.heal(a, b);
    return [];
  },

  crash: (stage, words) => {
    stage.world.crash(stage.running(words.next('a node')));
    return [];
  },

  restart: (stage, words) => {
    const node = stage.node(words.next('a node'));
    if (stage.world.node(node).up) throw new ScriptError(`${node} is running`);
    stage.world.restart(node);
    return [];
  },

  skew: (stage, words) => {
    const node = stage.world.node(stage.node(words.next('a node')));
    node.skewMs = durationOf(words.next('a duration'));
    return [];
  },

  disk: (stage, words) => {
    stage.world.diskMs.set(stage.node(words.next('a node')), durationOf(words.next('a duration')));
    return [];
  },

  hold: (stage, words) => {
    stage.network.hold(patternOf(stage, words));
    return [];
  },

  drop: (stage, words) => {
    stage.network.drop(patternOf(stage, words));
    return [];
  },

  pass: (stage) => {
    stage.network.pass();
    return [];
  },

  forget: (stage, words) => {
    oneOfWords(words.next('what to forget'), ['sent']);
    stage.shownMessages = stage.world.sent.length;
    return [];
  },
};

/** `TYPE,TYPE from NODE to NODE partition N`, each part optional. */
export function patternOf(scene: Scene, words: Words): Pattern {
  const types = scene.types.includes(words.peek.split(',')[0]!) ? words.next('types').split(',') : [];
  const unknown = types.find((type) => !scene.types.includes(type));
  if (unknown !== undefined) throw new ScriptError(`there is no message ${unknown}`);
  const [from, to, partition] = [words.option('from'), words.option('to'), words.option('partition')];
  return {
    types,
    from: from === undefined ? undefined : scene.node(from),
    to: to === undefined ? undefined : scene.node(to),
    partition: partition === undefined ? undefined : scene.partition(partition),
  };
}

/** The words behind `cluster`. */
export class ClusterOptions {
  readonly #options: Map<string, string>;

  constructor(words: Words) {
    this.#options = new Map(words.until().map((word) => word.split('=', 2) as [string, string]));
  }

  /** Takes a part; each may be left out. */
  take(name: string, otherwise: string): string {
    const value = this.#options.get(name) ?? otherwise;
    this.#options.delete(name);
    return value;
  }

  /** A part, which is taken later. */
  peek(name: string, otherwise: string): string {
    return this.#options.get(name) ?? otherwise;
  }

  /** The options of all worlds; the others are settings. */
  read(replication: string): { readonly delays: Map<string, number>; readonly world: WorldOptions } {
    const [regions, nodes, partitions] = [
      this.take('regions', '3'),
      this.take('nodes', '1'),
      this.take('partitions', '6'),
    ];
    const spec = specOf(regions, nodes, partitions, this.take('replication', replication));
    const delays = new Map([['', durationOf(this.take('delay', '1ms'))]]);
    const syncMs = durationOf(this.take('disk', '1ms'));
    const settings = Object.fromEntries([...this.#options].map(([name, value]) => [settingOf(name), numberOf(value)]));
    const delayMs = (from: NodeId, to: NodeId) => delays.get(linkOf(from, to)) ?? delays.get('')!;
    return { delays, world: { spec, settings, delayMs, syncMs } };
  }
}

const REGIONS = ['virginia', 'oregon', 'ireland', 'mumbai', 'sydney'];

/** `virginia-1 oregon-1`, or all links of one node. */
function linksOf(stage: Scene, words: Words): [NodeId, NodeId][] {
  const a = stage.node(words.next('a node'));
  if (!words.atEnd) return [[a, stage.node(words.next('a node'))]];
  return stage.world.topology.nodes.filter((b) => b !== a).map((b) => [a, b]);
}

function specOf(regions: string, nodes: string, partitions: string, replication: string): ClusterSpec {
  const ids = REGIONS.slice(0, numberOf(regions));
  const nodesOf = (region: string) => Array.from({ length: numberOf(nodes) }, (_, i) => ({ id: `${region}-${i + 1}` }));
  return {
    regions: ids.map((id) => ({ id, nodes: nodesOf(id) })),
    keyspaces: [{ name: 'default', partitions: numberOf(partitions), replication: numberOf(replication) }],
  };
}

const settingOf = (name: string): keyof ProtocolSettings =>
  oneOfWords(name, Object.keys(DEFAULT_SETTINGS) as (keyof ProtocolSettings)[]);

const linkOf = (a: NodeId, b: NodeId): string => (a < b ? `${a}|${b}` : `${b}|${a}`);

/** A script that is being played. */
export interface Play {
  readonly scene: Scene;
  /** Carries a command out and returns the lines it shows. */
  carryOut(words: Words): readonly string[];
}
