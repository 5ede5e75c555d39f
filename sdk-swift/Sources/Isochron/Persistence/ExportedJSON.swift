import IsochronSession

/// The format that all SDKs share: each continues the exports of the others.
extension ExportedSession {
    /// As JSON text. Keep it secret: it contains the token.
    public var json: String {
        var out = JSONWriter()
        out.value(raw)
        return out.text
    }

    /// Reads text of ``json``, of `JSON.stringify(session.export())` of the TypeScript SDK, or of an encoder. Throws
    /// TOKEN_INVALID.
    public init(json: String) throws {
        let raw: Raw
        do {
            raw = try JSONReader.read(json)
        } catch {
            throw IsochronError.invalidSession("it is not JSON", error)
        }
        try self.init(raw)
    }

    init(_ raw: Raw) throws {
        do {
            guard case .object(let members) = raw else { throw IsochronError.invalidSession("no object") }
            guard members["version"]?.exactInteger == Int64(Self.version) else {
                throw IsochronError.invalidSession("another version, or none")
            }
            let name = try members["protocol"]?.text("protocol") ?? Self.unnamedProtocol
            self.init(
                token: try members.text("token"), protocolName: name, ust: try members.timestamp("ust"),
                deps: try members["deps"]?.timestamps("deps"), hwt: try members.timestamp("hwt"),
                writes: try members.required("writes").items("writes").map { try $0.exportedWrite() },
                commits: try members["commits"]?.items("commits").map { try $0.exportedCommit() } ?? [],
                seen: try members["seen"]?.exportedSeen("seen"))
        } catch let error as IsochronError where error.code == .frameInvalid {
            throw IsochronError.invalidSession("a part is missing or damaged", error)
        }
    }

    var raw: Raw {
        var members = Raw.Members()
        members.set("version", .integer(Int64(Self.version)))
        members.set("token", .string(token))
        if protocolName != Self.unnamedProtocol { members.set("protocol", .string(protocolName)) }
        if let deps { members.set("deps", .array(deps.map { .integer($0) })) }
        members.set("ust", .integer(ust))
        members.set("hwt", .integer(hwt))
        members.set("writes", .array(writes.map(\.raw)))
        if !commits.isEmpty { members.set("commits", .array(commits.map(\.raw))) }
        if let seen { members.set("seen", seen.raw) }
        return .object(members)
    }
}

extension CacheEntry {
    /// `[key, commit timestamp, transaction, value]`.
    fileprivate var raw: Raw {
        .array([.string(key), .integer(write.ct), .string(write.txId), write.content.raw])
    }
}

extension Content {
    var raw: Raw {
        switch self {
        case .put(let value): value.raw
        case .update(let update):
            .object(Raw.Members([.init(name: "operations", value: .string(update.operations))]))
        case .delete: .null
        }
    }
}

extension Value {
    fileprivate var raw: Raw {
        switch self {
        case .json(let text): .string(text)
        case .bytes(let bytes): .object(Raw.Members([.init(name: "bytes", value: .string(toBase64(bytes)))]))
        }
    }
}

extension ExportedSeen {
    fileprivate var raw: Raw {
        var members = Raw.Members()
        members.set("seen", .array(seen.map { .integer($0) }))
        members.set("region", .string(region))
        if let depends { members.set("depends", .array(depends.map(\.raw))) }
        return .object(members)
    }
}

extension Dependency {
    fileprivate var raw: Raw {
        var members = Raw.Members()
        members.set("key", .string(key))
        members.set("source", .integer(source))
        members.set("ts", .integer(ts))
        if near { members.set("near", .bool(true)) }
        return .object(members)
    }
}

extension Raw {
    fileprivate func exportedWrite() throws -> CacheEntry {
        let parts = try items("write")
        guard parts.count >= 4 else { throw IsochronError.malformed("a write that is damaged") }
        let write = CachedWrite(
            ct: try parts[1].timestamp("commit timestamp"), txId: try parts[2].exportedTxId(),
            content: try parts[3].content())
        return CacheEntry(key: try parts[0].text("key"), write: write)
    }
}

extension ExportedSession: Codable {
    /// Reads the shared form. Throws TOKEN_INVALID.
    public init(from decoder: any Decoder) throws {
        let value: JSONValue
        do {
            value = try JSONValue(from: decoder)
        } catch {
            throw IsochronError.invalidSession("it cannot be decoded", error)
        }
        try self.init(Raw(value))
    }

    /// Writes the shared form.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue(raw).encode(to: encoder)
    }
}
