/// The arguments of the program: a command, and repeatable options with a value each (`--endpoint URL`).
struct Arguments {
    /// An invalid call, with the reason.
    struct Misuse: Error, CustomStringConvertible {
        let description: String
    }

    private var values: [String: [String]] = [:]

    /// - Parameters:
    ///   - words: the arguments after the command
    ///   - known: names of the command's options
    init(_ words: [String], known: Set<String>) throws {
        var rest = words[...]
        while let name = rest.popFirst() {
            guard known.contains(name) else { throw Misuse(description: "\(name) is not known here; see --help") }
            guard let value = rest.popFirst(), !value.hasPrefix("--") else {
                throw Misuse(description: "\(name) needs a value")
            }
            values[name, default: []].append(value)
        }
    }

    /// All values of an option, in order.
    func all(_ name: String) -> [String] {
        values[name] ?? []
    }

    /// The last value of an option.
    func last(_ name: String) -> String? {
        values[name]?.last
    }

    /// The last value of an option as a number. Throws for other text.
    func number(_ name: String, default fallback: Int) throws -> Int {
        guard let text = last(name) else { return fallback }
        guard let number = Int(text) else { throw Misuse(description: "\(name) is a number, not \(text)") }
        return number
    }
}
