/** A Swift package with a copy of the sessions for each bug, and a program that replays the vectors with all of them. */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { patched } from '../../mutants/mutant.js';
import { OPERATIONS, TRANSACTIONS } from '../protocols.js';
import { type PlantedBug, SOURCES } from './bugs.js';

/** The halves of the tests that need no test library: what reads the files, and what replays them. */
const TESTS = 'sdk-swift/Tests/IsochronSessionTests';
const [FILES, REPLAY] = [`${TESTS}/VectorFiles`, `${TESTS}/Replay`];

/** The copy without any bug. */
const INTACT: PlantedBug = { name: 'none', at: ['transactions', 'operations', 'names'], does: 'nothing', patches: [] };

export const withIntact = (bugs: readonly PlantedBug[]): readonly PlantedBug[] => [INTACT, ...bugs];

const moduleOf = (index: number): string => `Planted${index}`;

/** Writes the package. Throws RangeError for a patch whose place is not there exactly once. */
export function writePackage(folder: string, root: string, bugs: readonly PlantedBug[]): void {
  const modules = bugs.map((_, i) => moduleOf(i));
  const sources = join(folder, 'Sources');
  write(join(folder, 'Package.swift'), manifest(modules));
  cpSync(join(root, FILES), join(sources, 'VectorFiles'), { recursive: true });
  write(join(sources, 'VectorFiles/VectorSet.swift'), vectorSet());
  bugs.forEach((bug, i) => {
    writeModule(join(sources, moduleOf(i)), root, bug);
  });
  write(join(sources, 'Judge/main.swift'), judge(modules));
}

/** The sources with the bug in them, and with what replays the vectors: one module, so that it is told the copy. */
function writeModule(folder: string, root: string, bug: PlantedBug): void {
  cpSync(join(root, SOURCES), folder, { recursive: true });
  for (const patch of bug.patches) {
    const path = join(folder, patch.file);
    write(path, patched(readFileSync(path, 'utf8'), patch));
  }
  for (const file of readdirSync(join(root, REPLAY))) {
    const text = readFileSync(join(root, REPLAY, file), 'utf8').replace(/^import IsochronSession\n/m, '');
    write(join(folder, 'Replay', file), `@testable import VectorFiles\n\n${text}`);
  }
  write(join(folder, 'Findings.swift'), findings(bug));
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
    targets: [.target(name: "VectorFiles")]
        + modules.map { .target(name: $0, dependencies: ["VectorFiles"]) }
        + [.executableTarget(name: "Judge", dependencies: ["VectorFiles"] + modules.map { .byName(name: $0) })],
    swiftLanguageModes: [.v6]
)
`;

/** All files, read once for all copies. */
const vectorSet = (): string => `struct VectorSet {
    let transactions: [VectorFile<TransactionEvent>]
    let operations: [VectorFile<OperationEvent>]
    let keys: KeyVectors
    let values: ValueVectors
    let backoff: BackoffVectors

    init() throws {
        transactions = try ${JSON.stringify(Object.keys(TRANSACTIONS))}.map { try readSequences(of: $0) }
        operations = try ${JSON.stringify(Object.keys(OPERATIONS))}.map { try readSequences(of: $0) }
        keys = try readVectors("keys.json")
        values = try readVectors("values.json")
        backoff = try readVectors("backoff.json")
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

const judge = (modules: readonly string[]): string => `@testable import VectorFiles
${modules.map((name) => `@testable import ${name}\n`).join('')}
let vectors = try VectorSet()
${modules.map((name) => `for line in try ${name}.findings(vectors) { print(line) }\n`).join('')}print("judged")
`;
