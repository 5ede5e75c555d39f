import Foundation
import Isochron

/// A tour of the client against a running cluster (`npm start` at the root of the repository starts one).
@main
enum Demo {
    private static let help = """
        isochron-demo [tour] --endpoint URL [--endpoint URL ...]

          tour              set, get, list, update, a transaction, a snapshot and a stable wait, each with what it costs

          --endpoint URL    base URL of a node; may come again, the nearest is used
          --credentials KEY API key, where the cluster asks for one
          --session FILE    keeps the session there: the next call reads what this one wrote

        The exit code is 0 when everything went well, 1 after an error, 2 for a wrong call.
        """

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            try await run(words)
        } catch let misuse as Arguments.Misuse {
            fail("isochron-demo: \(misuse)", code: 2)
        } catch let error as IsochronError {
            fail(explained(error), code: 1)
        } catch {
            fail("isochron-demo: \(error)", code: 1)
        }
    }

    private static func run(_ words: [String]) async throws {
        let isCommand = words.first.map { !$0.hasPrefix("-") } ?? false
        let options = isCommand ? Array(words.dropFirst()) : words
        switch isCommand ? words[0] : "tour" {
        case _ where words.isEmpty || options.contains("--help") || options.contains("-h"): print(help)
        case "help": print(help)
        case "tour": try await tour(options)
        case let other: throw Arguments.Misuse(description: "there is no command \(other); see --help")
        }
    }

    private static func fail(_ message: String, code: Int32) {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(code)
    }

    /// The explanation of an error by its code.
    private static func explained(_ error: IsochronError) -> String {
        switch error.code {
        case .connectionLost: "no node could be reached: is the cluster running?\n  \(error)"
        case .unauthenticated: "the cluster wants other credentials (--credentials)\n  \(error)"
        case .outcomeUnknown: "transaction \(error.txId ?? "?") may or may not have happened\n  \(error)"
        default: "\(error)\(error.retryable ? "\n  trying again may help" : "")"
        }
    }
}
