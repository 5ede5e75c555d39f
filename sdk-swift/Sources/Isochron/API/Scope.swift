import IsochronSession

/// A set of keys: a keyspace, and the prefix of all its keys.
struct Scope: Sendable {
    let keyspace: String
    let prefix: String
    /// The error that every use of it throws, if its name is invalid.
    let problem: IsochronError?

    private init(keyspace: String, prefix: String, problem: IsochronError?) {
        self.keyspace = keyspace
        self.prefix = prefix
        self.problem = problem
    }

    /// A keyspace. An invalid name is KEYSPACE_UNKNOWN.
    init(keyspace name: String) {
        let isName = !name.utf8.isEmpty && !name.utf8.contains(UInt8(ascii: "/"))
        let message = "\(name.debugDescription) cannot be the name of a keyspace"
        self.init(keyspace: name, prefix: "", problem: isName ? nil : IsochronError(.keyspaceUnknown, message))
    }

    /// A collection in it: keys `name/<id>`, whose ids have no slash. An empty name is KEY_INVALID.
    func collection(_ name: String) -> Scope {
        let nameless = name.utf8.isEmpty ? IsochronError(.keyInvalid, "a collection has a name") : nil
        return Scope(keyspace: keyspace, prefix: "\(prefix)\(name)/", problem: problem ?? nameless)
    }

    /// The whole key. Throws KEY_INVALID, and the error of `problem`.
    func key(_ key: String, _ limits: Limits) throws -> QualifiedKey {
        if let problem { throw problem }
        if key.utf8.isEmpty { throw IsochronError(.keyInvalid, "a key is a text of at least one character") }
        if !prefix.utf8.isEmpty, key.utf8.contains(UInt8(ascii: "/")) {
            let message = "an id has no slash: name an inner collection, as in collection(\"a/b\")"
            throw IsochronError(.keyInvalid, message)
        }
        let whole = prefix + key
        if limits.problem(withKey: whole) != nil {
            throw IsochronError(.keyInvalid, "a key has at most \(limits.maxKeyBytes) bytes")
        }
        return qualify(keyspace: keyspace, key: whole)
    }

    /// The number of segments of the keys in a range; nil for any number, where the documents of inner collections are
    /// in it (`isDeep`), too. Throws INVALID_REQUEST for a prefix of inner collections without them.
    func level(_ prefix: String, isDeep: Bool) throws -> Int? {
        if isDeep { return nil }
        if prefix.utf8.contains(UInt8(ascii: "/")) {
            throw IsochronError(.invalidRequest, "an id has no slash: use collection(\"a/b\"), or deep")
        }
        return self.prefix.utf8.count { $0 == UInt8(ascii: "/") } + 1
    }

    /// Whole keys. Throws KEY_INVALID or TOO_MANY_KEYS.
    func keys(_ keys: [String], _ limits: Limits) throws -> [QualifiedKey] {
        try Scope.check(count: keys.count, limits)
        return try keys.map { try key($0, limits) }
    }

    /// A key without its prefix.
    func local(_ key: String) -> String {
        guard hasExactPrefix(key, prefix) else { return key }
        return String(decoding: key.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    /// Throws TOO_MANY_KEYS.
    static func check(count: Int, _ limits: Limits) throws {
        if count > limits.maxKeysPerRequest {
            let message = "\(count) keys are above the limit of \(limits.maxKeysPerRequest)"
            throw IsochronError(.tooManyKeys, message)
        }
    }
}
