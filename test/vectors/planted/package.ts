/**
 * A Swift package with a copy of the sessions or of the client for each bug, and a program that replays the vectors with
 * all of them.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { patched } from '../../mutants/mutant.js';
import { OPERATIONS, TRANSACTIONS } from '../protocols.js';
import { STEP_PROTOCOLS } from '../steps/protocols.js';
import { CLIENT_SOURCES, isOfClient, type PlantedBug, SESSIONS } from './bugs.js';

/** The halves of the tests that need no test library: what reads the files, and what replays them. */
const TESTS = 'sdk-swift/Tests/IsochronSessionTests';
const [FILES, REPLAY] = [`${TESTS}/VectorFiles`, `${TESTS}/Replay`];
const STEPS = 'sdk-swift/Tests/IsochronTests/Steps';
/** What the client machine is made of; the rest of the client is its driver, with sockets and documents. */
const MACHINE = [
  ...['Errors', 'Link', 'Session', 'Wire', 'Loop.swift', 'Machine.swift', 'SessionActor.swift', 'Settings.swift'],
  ...[
    'Timing.swift',
    'API/ClientStatus.swift',
    'API/JSONValue.swift',
    'Persistence/ExportedJSON.swift',
    'Transport/WebSocket.swift',
  ],
];

/** The copies without any bug. */
const INTACT: readonly PlantedBug[] = [
  { name: 'none', at: ['transactions', 'operations', 'names'], does: 'nothing', patches: [] },
  { name: 'none', at: ['steps'], does: 'nothing', patches: [] },
];

/** Of the sessions and of the client, where there are bugs of them. */
export const withIntact = (bugs: readonly PlantedBug[]): readonly PlantedBug[] => [
  ...INTACT.filter((intact) => bugs.some((bug) => isOfClient(bug) === isOfClient(intact))),
  ...bugs,
];

const moduleOf = (index: number): string => `Planted${index}`;

/** Writes the package. Throws RangeError for a patch whose place is not there exactly once. */
export function writePackage(folder: string, root: string, bugs: readonly PlantedBug[]): void {
  const modules = bugs.map((_, i) => moduleOf(i));
  const sources = join(folder, 'Sources');
  write(join(folder, 'Package.swift'), manifest(modules));
  cpSync(join(root, SESSIONS), join(sources, 'IsochronSession'), { recursive: true });
  cpSync(join(root, FILES), join(sources, 'VectorFiles'), { recursive: true });
  write(join(sources, 'VectorFiles/VectorSet.swift'), vectorSet());
  bugs.forEach((bug, i) => {
    const write = isOfClient(bug) ? writeClient : writeSessions;
    write(join(sources, moduleOf(i)), root, bug);
  });
  write(join(sources, 'Judge/main.swift'), judge(bugs));
}

/** The sources with the bug in them, and with what replays the vectors: one module, so that it is told the copy. */
function writeSessions(folder: string, root: string, bug: PlantedBug): void {
  cpSync(join(root, SESSIONS), folder, { recursive: true });
  patch(folder, bug);
  for (const file of readdirSync(join(root, REPLAY))) {
    const text = readFileSync(join(root, REPLAY, file), 'utf8').replace(/^import IsochronSession\n/m, '');
    write(join(folder, 'Replay', file), `@testable import VectorFiles\n\n${text}`);
  }
  write(join(folder, 'Findings.swift'), findings(bug));
}

/** The sources of the client machine with the bug in them, and with what replays the step traces. */
function writeClient(folder: string, root: string, bug: PlantedBug): void {
  for (const part of MACHINE) cpSync(join(root, CLIENT_SOURCES, part), join(folder, part), { recursive: true });
  patch(folder, bug);
  for (const file of readdirSync(join(root, STEPS)).filter((name) => !name.endsWith('Tests.swift'))) {
    const text = readFileSync(join(root, STEPS, file), 'utf8').replace(/^@testable import Isochron\n/m, '');
    write(join(folder, 'Replay', file), text);
  }
  write(join(folder, 'Findings.swift'), stepFindings(bug));
}

function patch(folder: string, { patches }: PlantedBug): void {
  for (const one of patches) {
    const path = join(folder, one.file);
    write(path, patched(readFileSync(path, 'utf8'), one));
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const manifest = (modules: readonly string[]): string => `// swift-tools-version: 6.0
import PackageDescription

let modules = ${JSON.stringify(modules)}

let package = Package(
    name: "Planted",
    platforms: [.macOS(.v13)],
    targets: [.target(name: "VectorFiles"), .target(name: "IsochronSession")]
        + modules.map { .target(name: $0, dependencies: ["VectorFiles", "IsochronSession"]) }
        + [.executableTarget(name: "Judge", dependencies: ["VectorFiles"] + modules.map { .byName(name: $0) })],
    swiftLanguageModes: [.v6]
)
`;

/** All files, read once for all copies. */
const vectorSet = (): string => `import Foundation

struct VectorSet {
    let transactions: [VectorFile<TransactionEvent>]
    let operations: [VectorFile<OperationEvent>]
    let keys: KeyVectors
    let values: ValueVectors
    let backoff: BackoffVectors
    let steps: [(name: String, text: String)]

    init() throws {
        transactions = try ${JSON.stringify(Object.keys(TRANSACTIONS))}.map { try readSequences(of: $0) }
        operations = try ${JSON.stringify(Object.keys(OPERATIONS))}.map { try readSequences(of: $0) }
        keys = try readVectors("keys.json")
        values = try readVectors("values.json")
        backoff = try readVectors("backoff.json")
        steps = try ${JSON.stringify(STEP_PROTOCOLS.map(({ name }) => name))}.map { name in
            (name, try String(contentsOf: vectorsFolder().appendingPathComponent("steps-\\(name).json"), encoding: .utf8))
        }
    }
}
`;

/** A line for each file that differs: the bug, the file, how many sequences or cases, and the first of them. Tabs are in none. */
const findings = ({ name, at }: PlantedBug): string => `@testable import VectorFiles

func findings(_ vectors: VectorSet) throws -> [String] {
    let lines = [${at.map((kind) => `try ${kind}(vectors)`).join(', ')}]
    return lines.flatMap { $0 }.map { (["${name}"] + $0).joined(separator: "\\t") }
}

private func transactions(_ vectors: VectorSet) throws -> [[String]] {
    try vectors.transactions.flatMap { file in
        guard case .transactions(let rules)? = sessionKind(protocol: file.protocol) else { return [[file.protocol]] }
        return line(file.protocol, try replay(file, rules).differences)
    }
}

private func operations(_ vectors: VectorSet) throws -> [[String]] {
    try vectors.operations.flatMap { file in
        guard case .operations(let rules)? = sessionKind(protocol: file.protocol) else { return [[file.protocol]] }
        return line(file.protocol, try replay(file, rules).differences)
    }
}

private func names(_ vectors: VectorSet) throws -> [[String]] {
    let checked = [("keys", check(vectors.keys)), ("values", check(vectors.values)), ("backoff", check(vectors.backoff))]
    return checked.flatMap { name, checked in
        checked.differences.prefix(1).map { first in
            [name, "\\(checked.differences.count)", name, first.what, first.expected, first.got]
        }
    }
}

private func line(_ name: String, _ differences: [Difference]) -> [[String]] {
    differences.prefix(1).map { first in
        let place = "\\(first.sequence) event \\(first.event) (\\(first.name))"
        return [name, "\\(differences.count)", place, first.what, first.expected, first.got]
    }
}
`;

/** As of the sessions: a line for each file that differs. */
const stepFindings = ({ name }: PlantedBug): string => `@testable import VectorFiles

@SessionActor
func findings(_ files: [(name: String, text: String)]) throws -> [String] {
    try files.flatMap { file in
        let traces = file.text.split(separator: "\\n").dropFirst().dropLast()
        let differences = try traces.compactMap { try replay(trace: $0.hasSuffix(",") ? $0.dropLast() : $0) }
        return differences.prefix(1).map { first in
            let place = "\\(first.trace) step \\(first.step)"
            let shown = [first.expected, first.got].map { $0.split(separator: "\\n").joined(separator: " ") }
            return (["${name}", file.name, "\\(differences.count)", place, first.what] + shown).joined(separator: "\\t")
        }
    }
}
`;

function judge(bugs: readonly PlantedBug[]): string {
  const imports = bugs.map((_, i) => `@testable import ${moduleOf(i)}\n`);
  const calls = bugs.map((bug, i) =>
    isOfClient(bug) ? `await ${moduleOf(i)}.findings(vectors.steps)` : `${moduleOf(i)}.findings(vectors)`,
  );
  return `@testable import VectorFiles
${imports.join('')}
let vectors = try VectorSet()
${calls.map((call) => `for line in try ${call} { print(line) }\n`).join('')}print("judged")
`;
}
