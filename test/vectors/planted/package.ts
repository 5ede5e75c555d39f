/**
 * A Swift package with a copy of the sessions and of the client that contains all bugs, and a program that replays the
 * vectors with one of them at a time.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OPERATION_PROTOCOLS, TRANSACTION_PROTOCOLS } from '@isochron/protocols';
import { RENEWAL_PROTOCOLS, STEP_PROTOCOLS, SUSPENSION_PROTOCOLS } from '../steps/protocols.js';
import { CLIENT_SOURCES, type PlantedBug, SESSIONS, sourcesOf } from './bugs.js';
import { patched, type SwiftPatch } from './planted-bug.js';

/** The sources of the client machine, and of the sockets of Linux; the rest of the client is its driver. */
const MACHINE = [
  ...[
    'Errors',
    'Generated',
    'Link',
    'Live',
    'Session',
    'Wire',
    'Loop.swift',
    'Machine.swift',
    'SessionActor.swift',
    'Settings.swift',
  ],
  ...[
    'Timing.swift',
    'API/ClientStatus.swift',
    'API/JSONValue.swift',
    'Persistence/ExportedCommits.swift',
    'Persistence/ExportedJSON.swift',
    'Inbox.swift',
    'Transport/Channels',
    'Transport/Protocol',
    'Transport/Shared',
    'Transport/Sockets',
    'Transport/TLS',
    'Transport/TransportError.swift',
    'Transport/WebSocket.swift',
    'Transport/WebSocketLimits.swift',
  ],
];
/** The parts of the tests that need no test library: those that read and replay the files. */
const TESTS = 'sdk-swift/Tests';
const FILES = `${TESTS}/IsochronSessionTests/VectorFiles`;
const REPLAY = `${TESTS}/IsochronSessionTests/Replay`;
const TLS_CASES = `${TESTS}/IsochronTransportTests/TLSCases`;
const OPENSSL = 'sdk-swift/Sources/COpenSSL';
const STEPS = ['StepRecorder', 'StepReplay', 'StepShown'].map((name) => `${TESTS}/IsochronTests/Steps/${name}.swift`);

/** Writes the package. Throws RangeError for a patch whose place does not occur exactly once. */
export function writePackage(folder: string, root: string, bugs: readonly PlantedBug[]): void {
  const copy = (from: string, to: string): void =>
    cpSync(join(root, from), join(folder, 'Sources', to), { recursive: true });
  copy(SESSIONS, 'IsochronSession');
  for (const part of MACHINE) copy(`${CLIENT_SOURCES}/${part}`, `Isochron/${part}`);
  copy(FILES, 'Judge/VectorFiles');
  copy(REPLAY, 'Judge/Replay');
  copy(TLS_CASES, 'Judge/TLSCases');
  copy(OPENSSL, 'COpenSSL');
  for (const file of STEPS) copy(file, `Judge/Steps/${file.split('/').at(-1)}`);
  for (const bug of bugs) plant(folder, bug);
  write(join(folder, 'Package.swift'), MANIFEST);
  write(join(folder, 'Sources/Planted/Planted.swift'), CHOICE);
  write(join(folder, 'Sources/Judge/Findings.swift'), findings());
  write(join(folder, 'Sources/Judge/main.swift'), judge(bugs));
}

/** The patch in the program's form: it takes effect while its bug is chosen. */
export function chosen(name: string, { file, find, replace }: SwiftPatch): SwiftPatch {
  const isChosen = `isPlanted(${JSON.stringify(name)})`;
  const text = /\bplanted\b/.test(replace) ? replace : `(planted ? (${replace}) : (${find}))`;
  return { file, find, replace: text.replace(/\bplanted\b/g, isChosen) };
}

function plant(folder: string, bug: PlantedBug): void {
  const sources = sourcesOf(bug).replace(/^.*\//, '');
  for (const patch of bug.patches) {
    const path = join(folder, 'Sources', sources, patch.file);
    const text = patched(readFileSync(path, 'utf8'), chosen(bug.name, patch));
    write(path, text.startsWith(IMPORT) ? text : `${IMPORT}${text}`);
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const IMPORT = 'import Planted\n';

const MANIFEST = `// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Planted",
    platforms: [.macOS(.v13)],
    targets: [
        .target(name: "Planted"),
        .target(name: "IsochronSession", dependencies: ["Planted"]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl"),
        .target(
            name: "Isochron",
            dependencies: [
                "Planted", "IsochronSession", .target(name: "COpenSSL", condition: .when(platforms: [.linux])),
            ]),
        .executableTarget(name: "Judge", dependencies: ["Planted", "IsochronSession", "Isochron"]),
    ],
    swiftLanguageModes: [.v6]
)
`;

const CHOICE = `/// The name of the bug that the program has now.
public nonisolated(unsafe) var plantedBug = "none"

public func isPlanted(_ name: String) -> Bool { plantedBug == name }
`;

/** Of a file that differs: its name, the number of sequences or cases, and the first of them, separated by tabs. */
const findings = (): string => `import Foundation
import IsochronSession

@testable import Isochron

/// All files, read once for all bugs.
struct VectorSet {
    let transactions: [VectorFile<TransactionEvent>]
    let operations: [VectorFile<OperationEvent>]
    let keys: KeyVectors
    let values: ValueVectors
    let backoff: BackoffVectors
    let documents: DocumentVectors
    let folds: FoldVectors
    let queries: QueryVectors
    let steps: [(name: String, text: String)]
    let renewals: [(name: String, text: String)]
    let suspensions: [(name: String, text: String)]

    init() throws {
        transactions = try ${JSON.stringify(Object.keys(TRANSACTION_PROTOCOLS))}.map { try readSequences(of: $0) }
        operations = try ${JSON.stringify(Object.keys(OPERATION_PROTOCOLS))}.map { try readSequences(of: $0) }
        keys = try readVectors("keys.json")
        values = try readVectors("values.json")
        backoff = try readVectors("backoff.json")
        documents = try readVectors("documents.json")
        folds = try readVectors("folds.json")
        queries = try readVectors("queries.json")
        steps = try ${JSON.stringify(STEP_PROTOCOLS.map(({ name }) => `steps-${name}`))}.map(Self.traces)
        renewals = try ${JSON.stringify(RENEWAL_PROTOCOLS.map(({ name }) => `renewals-${name}`))}.map(Self.traces)
        suspensions = try ${JSON.stringify(SUSPENSION_PROTOCOLS.map(({ name }) => `suspensions-${name}`))}.map(Self.traces)
    }

    private static func traces(_ name: String) throws -> (String, String) {
        (name, try String(contentsOf: vectorsFolder().appendingPathComponent("\\(name).json"), encoding: .utf8))
    }
}

/// Replays one file; nil without a difference.
typealias Check = () async throws -> [String]?

func transactions(_ vectors: VectorSet) -> [Check] {
    vectors.transactions.map { file in
        {
            guard case .transactions(let rules)? = sessionKind(protocol: file.protocol) else { return [file.protocol] }
            return line(file.protocol, try replay(file, rules).differences)
        }
    }
}

func operations(_ vectors: VectorSet) -> [Check] {
    vectors.operations.map { file in
        {
            guard case .operations(let rules)? = sessionKind(protocol: file.protocol) else { return [file.protocol] }
            return line(file.protocol, try replay(file, rules).differences)
        }
    }
}

func names(_ vectors: VectorSet) -> [Check] {
    [
        { line("keys", check(vectors.keys)) },
        { line("values", check(vectors.values)) },
        { line("backoff", check(vectors.backoff)) },
        { line("documents", check(vectors.documents)) },
    ]
}

func folds(_ vectors: VectorSet) -> [Check] {
    [{ line("folds", check(vectors.folds)) }]
}

func queries(_ vectors: VectorSet) -> [Check] {
    [{ line("queries", check(vectors.queries)) }]
}

func steps(_ files: [(name: String, text: String)]) -> [Check] {
    files.map { name, text in
        {
            var differences: [StepDifference] = []
            for trace in text.split(separator: "\\n").dropFirst().dropLast() {
                let one = trace.hasSuffix(",") ? trace.dropLast() : trace
                if let difference = try await replay(trace: one) { differences.append(difference) }
            }
            guard let first = differences.first else { return nil }
            let shown = [first.expected, first.got].map { $0.split(separator: "\\n").joined(separator: " ") }
            return [name, "\\(differences.count)", "\\(first.trace) step \\(first.step)", first.what] + shown
        }
    }
}

func tls() -> [Check] {
    TLSCase.all.map { one in
        {
            let got = try await one.difference()
            return got.map { ["tls", "1", one.name, "the end of the connection", "\\(one.expected)", $0] }
        }
    }
}

private func line(_ name: String, _ differences: [Difference]) -> [String]? {
    differences.first.map { first in
        let place = "\\(first.sequence) event \\(first.event) (\\(first.name))"
        return [name, "\\(differences.count)", place, first.what, first.expected, first.got]
    }
}

private func line(_ name: String, _ checked: Checked) -> [String]? {
    checked.differences.first.map { first in
        [name, "\\(checked.differences.count)", name, first.what, first.expected, first.got]
    }
}
`;

/** Without a bug all files are replayed; with one, up to the first that differs. */
const judge = (bugs: readonly PlantedBug[]): string => `import Planted

let vectors = try VectorSet()
let checks = [
    "transactions": transactions(vectors), "operations": operations(vectors), "names": names(vectors),
    "folds": folds(vectors), "queries": queries(vectors), "steps": steps(vectors.steps),
    "renewals": steps(vectors.renewals), "suspensions": steps(vectors.suspensions), "tls": tls(),
]
let bugs: [(name: String, at: [String])] = [
    ("none", checks.keys.sorted()),
${bugs.map(({ name, at }) => `    (${JSON.stringify(name)}, ${JSON.stringify(at)}),\n`).join('')}]
for bug in bugs {
    plantedBug = bug.name
    for check in bug.at.flatMap({ checks[$0] ?? [] }) {
        guard let line = try await check() else { continue }
        print(([bug.name] + line).joined(separator: "\\t"))
        if bug.name != "none" { break }
    }
}
print("judged")
`;
