/**
 * The model of suspension and return: a cluster in memory that is driven by actions. An action is a line of text, such
 * as `deliver 0 1`; a schedule is a list of actions, and means the same when some of them are left out. `README.md` has
 * the rules.
 */
import { Commits } from './commits.js';
import { Maps } from './maps.js';
import { Returns } from './returning.js';
import { Rounds } from './rounds.js';
import { Sessions } from './sessions.js';
import { isMember, type ModelNode, type Session, type Shape } from './state.js';
import { type Message, type MessageOf, Violation, World } from './world.js';

/** Steps of a fair schedule until a healed cluster has to be at rest. */
const FAIR_STEPS = 400;
const MOST_MESSAGES = 4000;

/** An action by its name: the arguments with which it may happen now, and what it does. */
interface Kind {
  readonly choices: () => (readonly (number | string)[])[];
  /** Does nothing, and returns false, where the action cannot happen. */
  readonly act: (args: readonly string[]) => boolean;
}

/** What a node does with a message of each type. */
type Handlers = {
  readonly [T in Message['type']]: (node: ModelNode, from: number, message: MessageOf<T>) => void;
};

export class Model {
  readonly world: World;
  readonly #commits: Commits;
  readonly #maps: Maps;
  readonly #rounds: Rounds;
  readonly #returns: Returns;
  readonly #sessions: Sessions;
  readonly #kinds: Readonly<Record<string, Kind>>;
  readonly #handlers: Handlers = {
    Prepare: (node, from, message) => this.#commits.onPrepare(node, from, message),
    Prepared: (node, _from, message) => this.#commits.onPrepared(node, message),
    Refused: (node, _from, message) => this.#commits.onRefused(node, message),
    Known: (node, _from, message) => this.#commits.onKnown(node, message),
    Commit: (node, _from, message) => this.#commits.onCommit(node, message),
    Resolve: (node, from, message) => this.#commits.onResolve(node, from, message),
    Resolved: (node, _from, message) => this.#commits.onResolved(node, message),
    Round: (node, from, message) => this.#rounds.onRound(node, from, message),
    Read: (node, from, message) => this.#sessions.onRead(node, from, message),
    ReadAnswer: (node, _from, message) => this.#sessions.onReadAnswer(node, message),
    Seal: (node, from, message) => this.#maps.onSeal(node, from, message),
    Sealed: (node, from, message) => this.#maps.onSealed(node, from, message),
    Accept: (node, from, message) => this.#maps.onAccept(node, from, message),
    Accepted: (node, from, message) => this.#maps.onAccepted(node, from, message),
    Maps: (node, _from, message) => this.#maps.onMaps(node, message),
    DeferredReq: (node, from, message) => this.#returns.onDeferredReq(node, from, message),
    DeferredResp: (node, from, message) => this.#returns.onDeferredResp(node, from, message),
  };

  constructor(shape: Shape, nodes = 3) {
    const world = new World(shape, nodes);
    const client = (by: number) => (by < 0 ? this.#returns : this.#sessions);
    this.world = world;
    this.#commits = new Commits(world, {
      decided: (node, attempt, result) => client(attempt.by).decided(node, attempt, result),
      refused: (node, attempt, next) => client(attempt.by).refused(node, attempt, next),
    });
    this.#maps = new Maps(world, this.#commits, (node) => this.#rounds.update(node));
    this.#rounds = new Rounds(world, this.#maps);
    this.#returns = new Returns(world, this.#commits);
    this.#sessions = new Sessions(world, this.#commits);
    this.#kinds = this.#actions();
  }

  /** Every action that may happen now; `read` and `write` without their partitions. */
  enabled(): string[] {
    return Object.entries(this.#kinds).flatMap(([name, { choices }]) =>
      choices().map((args) => [name, ...args].join(' ')),
    );
  }

  /**
   * Carries out an action, and checks what must always hold.
   * @returns whether the action could happen
   * @throws Violation
   */
  apply(action: string): boolean {
    const [name, ...args] = action.split(' ');
    const before = this.world.nodes.map(({ ust }) => ust);
    const kind = this.#kinds[name!];
    if (kind === undefined) throw new TypeError(`no action is called ${name}`);
    const done = kind.act(args);
    for (const { id, ust } of this.world.nodes)
      if (ust < before[id]!) throw new Violation('PU1', `stable time of ${id} falls from ${before[id]} to ${ust}`);
    return done;
  }

  /** Delivers messages until none is left. */
  drain(): void {
    for (let count = 0; count < MOST_MESSAGES; count++) {
      const next = this.#kinds.deliver!.choices()[0];
      if (next === undefined) return;
      this.apply(`deliver ${next.join(' ')}`);
    }
  }

  /** Everything is healed, and a fair schedule follows. @throws Violation for what must hold in the end */
  end(): void {
    const { nodes, sessions, links } = this.world;
    this.world.faults = 0;
    for (const link of links) link.fill(true);
    for (const node of nodes) node.isUp = true;
    for (const session of sessions) {
      session.read = undefined;
      session.left = 0;
    }
    for (let step = 0; step < FAIR_STEPS && (step <= 3 || !this.#isAtRest()); step++) this.#fairStep(step);
    if (!this.#isAtRest()) throw new Violation('everything ends', this.#describe());
    for (let rounds = 0; rounds < 4; rounds++) this.#roundOfAll();
    this.#checkEnd();
  }

  #fairStep(step: number): void {
    const { nodes, sessions } = this.world;
    this.#roundOfAll();
    for (const { id } of nodes)
      for (const action of ['adopt', 'resolve', 'beginReturn', 'goOn', 'goOn', 'goOn', 'goOn'])
        this.#drained(`${action} ${id}`);
    if (step % 3 === 2) this.#proposeOne();
    if (step % 5 === 4) for (const { number } of sessions) this.#drained(`repeat ${number}`);
  }

  #roundOfAll(): void {
    for (const { id } of this.world.nodes) this.#drained(`round ${id}`);
  }

  #drained(action: string): void {
    this.apply(action);
    this.drain();
  }

  /** A node that is away comes back, or a seal without a map ends. */
  #proposeOne(): void {
    for (const node of this.world.nodes) {
      if (!this.#maps.mayPropose(node)) continue;
      const away = this.world.nodes.find(({ id, map }) => !isMember(node, id) && map === node.map);
      if (away === undefined && node.sealedFor === 0) continue;
      this.#maps.propose(node, [], away?.id);
      this.drain();
      return;
    }
  }

  #isAtRest(): boolean {
    const { nodes, sessions } = this.world;
    const [{ map }] = nodes as [ModelNode];
    const rests = (node: ModelNode) =>
      node.map === map &&
      nodes.every(({ id }) => isMember(node, id)) &&
      node.sealedFor === 0 &&
      node.returning === undefined &&
      !node.owes &&
      node.prepared.size === 0 &&
      node.queue.length === 0;
    const hasEnded = (session: Session) =>
      session.pending === undefined && this.#sessions.deferredOf(session) === undefined;
    return nodes.every(rests) && sessions.every(hasEnded);
  }

  #describe(): string {
    const nodes = this.world.nodes.map(({ id, map, maps, sealedFor, prepared, queue, owes }) =>
      [id, map, maps[map]!.members, sealedFor, [...prepared.keys()], queue.length, owes].join('/'),
    );
    const sessions = this.world.sessions.map(({ pending, unstable }) =>
      [pending?.tx, ...unstable.map(({ tx, ct }) => `${tx}@${ct}`)].join('/'),
    );
    return `${nodes.join(' ')}; sessions ${sessions.join(' ')}`;
  }

  /** Every acknowledged transaction is in every replica, once, whole and at one timestamp, and is visible. */
  #checkEnd(): void {
    const { nodes, sessions, transactions, acknowledged, shape } = this.world;
    const entries = nodes.flatMap(({ log }) => Object.values(log).flat());
    const newest = Math.max(0, ...entries.map(({ ct }) => ct));
    for (const { id, ust } of nodes)
      if (ust < newest) throw new Violation('everything is visible in the end', `${id} has ${ust} below ${newest}`);
    transactions.forEach(({ partitions }, tx) => {
      const slices = partitions.flatMap((partition) =>
        shape.hosts[partition]!.map((id) => nodes[id]!.log[partition]!.filter((entry) => entry.tx === tx)),
      );
      const times = new Set(slices.flat().map(({ ct }) => ct));
      if (slices.some(({ length }) => length > 1)) throw new Violation('a transaction commits once', `${tx}`);
      if (times.size > 1) throw new Violation('a transaction has one timestamp', `${tx} has ${[...times].join()}`);
      if (new Set(slices.map(({ length }) => length)).size > 1) throw new Violation('a transaction is whole', `${tx}`);
      if (acknowledged.has(tx) && times.size === 0) throw new Violation('no acknowledged write is lost', `${tx}`);
    });
    const all = shape.hosts.map((_, partition) => partition);
    const from = shape.hosts.map(([first]) => first);
    for (const session of sessions)
      for (const { id } of nodes) {
        session.at = id;
        session.read = undefined;
        const { reads } = this.world.counts;
        this.#drained(`read ${session.number} ${all.join()} ${from.join()}`);
        if (this.world.counts.reads === reads)
          throw new Violation('every read ends', `session ${session.number} at ${id}`);
      }
  }

  #deliver(from: number, to: number): void {
    const message = this.world.network[from]![to]!.shift()!;
    const node = this.world.nodes[to]!;
    node.clock = Math.max(node.clock, message.clock);
    const handle = this.#handlers[message.type] as (to: ModelNode, sender: number, message: Message) => void;
    handle(node, from, message);
  }

  /** What lives in memory alone is gone, and messages under way are. */
  #crash(node: ModelNode): void {
    const { network, sessions } = this.world;
    node.isUp = false;
    node.coordinated.clear();
    node.reports.clear();
    node.proposal = undefined;
    node.returning = undefined;
    node.answers.clear();
    for (const links of network) links[node.id] = [];
    network[node.id] = network.map(() => []);
    for (const session of sessions) if (session.at === node.id) session.read = undefined;
  }

  #actions(): Record<string, Kind> {
    const { world } = this;
    const { nodes, sessions, network, links } = world;
    const pairs = nodes.flatMap(({ id: from }) => nodes.map(({ id: to }) => [from, to] as const));
    const isOpen = ([from, to]: readonly [number, number]) => network[from]![to]!.length > 0 && world.reaches(from, to);
    const hasFaults = () => world.faults > 0;
    /** An action of a node that may happen while a condition holds. */
    const ofNode = (may: (node: ModelNode) => boolean, act: (node: ModelNode) => void): Kind => ({
      choices: () => nodes.flatMap((node) => (may(node) ? [[node.id]] : [])),
      act: ([id]) => {
        const node = nodes[Number(id)]!;
        if (!may(node)) return false;
        act(node);
        return true;
      },
    });
    const ofLink = (may: (from: number, to: number) => boolean, act: (from: number, to: number) => void): Kind => ({
      choices: () => pairs.filter(([from, to]) => may(from, to)).map((pair) => [...pair]),
      act: (args) => {
        const [from, to] = args.map(Number) as [number, number];
        if (!may(from, to)) return false;
        act(from, to);
        return true;
      },
    });
    const ofSession = (
      may: (session: Session) => boolean,
      act: (session: Session, args: readonly string[]) => void,
    ): Kind => ({
      choices: () => sessions.flatMap((session) => (may(session) ? [[session.number]] : [])),
      act: ([number, ...args]) => {
        const session = sessions[Number(number)]!;
        if (!may(session)) return false;
        act(session, args);
        return true;
      },
    });
    const isServed = ({ at }: Session) => nodes[at]!.isUp;
    const numbers = (list: string | undefined) => list!.split(',').map(Number);
    return {
      deliver: ofLink(
        (from, to) => isOpen([from, to]),
        (from, to) => this.#deliver(from, to),
      ),
      round: ofNode(
        ({ isUp }) => isUp,
        (node) => this.#rounds.round(node),
      ),
      crash: ofNode(
        ({ isUp }) => isUp && hasFaults(),
        (node) => {
          world.faults--;
          this.#crash(node);
        },
      ),
      start: ofNode(
        ({ isUp }) => !isUp,
        (node) => {
          node.isUp = true;
        },
      ),
      cut: ofLink(
        (from, to) => from !== to && links[from]![to]! && hasFaults(),
        (from, to) => {
          world.faults -= 0.5;
          links[from]![to] = false;
          network[from]![to] = [];
        },
      ),
      heal: ofLink(
        (from, to) => !links[from]![to]!,
        (from, to) => {
          links[from]![to] = true;
        },
      ),
      adopt: ofNode(
        (node) => this.#maps.mayAdopt(node),
        (node) => this.#maps.adopt(node),
      ),
      suspend: this.#suspend(),
      return: ofLink(
        (from, to) => {
          const [node, other] = [nodes[from]!, nodes[to]!];
          const isThere = world.reaches(from, to) && world.reaches(to, from) && other.map === node.map;
          return this.#maps.mayPropose(node) && !isMember(node, to) && isThere;
        },
        (from, to) => this.#maps.propose(nodes[from]!, [], to),
      ),
      unseal: ofNode(
        (node) => this.#maps.mayPropose(node) && node.sealedFor > 0 && node.proposal === undefined,
        (node) => this.#maps.propose(node, []),
      ),
      resolve: ofNode(
        ({ isUp, prepared }) => isUp && prepared.size > 0,
        (node) => this.#commits.resolve(node),
      ),
      beginReturn: ofNode(
        (node) => this.#returns.mayBegin(node),
        (node) => this.#returns.begin(node),
      ),
      goOn: ofNode(
        ({ isUp, returning }) => isUp && returning !== undefined,
        (node) => this.#returns.step(node),
      ),
      move: {
        choices: () =>
          sessions.flatMap(({ number, at }) => nodes.flatMap(({ id }) => (id === at ? [] : [[number, id]]))),
        act: ([number, to]) => {
          const session = sessions[Number(number)]!;
          if (session.at === Number(to)) return false;
          session.at = Number(to);
          session.read = undefined;
          return true;
        },
      },
      read: ofSession(
        (session) => isServed(session) && session.read === undefined,
        (session, [partitions, from]) => {
          const [all, at] = [numbers(partitions), numbers(from)];
          this.#sessions.read(session, all, Object.fromEntries(all.map((partition, i) => [partition, at[i]!])));
        },
      ),
      giveUp: ofSession(
        ({ read }) => read !== undefined,
        (session) => {
          session.read = undefined;
        },
      ),
      write: ofSession(
        (session) =>
          isServed(session) && session.pending === undefined && session.read === undefined && session.left > 0,
        (session, [partitions]) => this.#sessions.write(session, numbers(partitions)),
      ),
      repeat: ofSession(
        (session) =>
          isServed(session) && (session.pending !== undefined || this.#sessions.deferredOf(session) !== undefined),
        (session) => this.#sessions.repeat(session),
      ),
    };
  }

  /** A suspension of one node, or of two at once; of a node that answers, it is a fault. */
  #suspend(): Kind {
    const { world } = this;
    const { nodes } = world;
    const isAlive = (from: number, to: number) => world.reaches(from, to) && world.reaches(to, from);
    const may = (node: ModelNode, without: readonly number[]) =>
      this.#maps.mayPropose(node) &&
      without.every((id) => id !== node.id && isMember(node, id)) &&
      (world.faults > 0 || !isAlive(node.id, without[0]!));
    return {
      choices: () =>
        nodes.flatMap((node) => {
          const singles = nodes.filter(({ id }) => may(node, [id])).map(({ id }) => [node.id, `${id}`]);
          if (nodes.length < 5) return singles;
          const both = singles.flatMap(([, a]) =>
            nodes.filter(({ id }) => id > Number(a)).map(({ id }) => [Number(a), id]),
          );
          return [...singles, ...both.filter((two) => may(node, two)).map((two) => [node.id, two.join()])];
        }),
      act: ([id, list]) => {
        const node = nodes[Number(id)]!;
        const without = list!.split(',').map(Number);
        if (!may(node, without)) return false;
        if (isAlive(node.id, without[0]!)) world.faults--;
        this.#maps.propose(node, without);
        return true;
      },
    };
  }
}
