import IsochronSession

/// Validates members of a frame: data of a server is not used before. An invalid member is FRAME_INVALID.
extension Raw {
    func members(_ name: String) throws -> Members {
        guard case .object(let members) = self else {
            throw IsochronError.malformed("a frame whose \(name) is no object")
        }
        return members
    }

    func items(_ name: String) throws -> [Raw] {
        guard case .array(let items) = self else { throw IsochronError.malformed("a frame whose \(name) is no list") }
        return items
    }

    func text(_ name: String) throws -> String {
        guard case .string(let text) = self else { throw IsochronError.malformed("a frame whose \(name) is no text") }
        return text
    }

    func count(_ name: String) throws -> Int64 {
        guard let count = exactInteger, count >= 0 else {
            throw IsochronError.malformed("a frame whose \(name) is no count")
        }
        return count
    }

    func timestamp(_ name: String) throws -> Timestamp {
        guard let number = exactInteger, isTimestamp(number) else {
            throw IsochronError.malformed("a frame whose \(name) is no timestamp")
        }
        return number
    }

    func timestamps(_ name: String) throws -> [Timestamp] {
        try items(name).map { try $0.timestamp(name) }
    }

    /// Nil for null.
    var present: Raw? { self == .null ? nil : self }

    /// A document as its JSON text, or `{ bytes }`.
    func value() throws -> Value {
        if case .string(let text) = self { return .json(text) }
        guard case .object(let members) = self, case .string(let text) = members["bytes"] else {
            throw IsochronError.malformed("a value that is neither a document nor bytes")
        }
        guard let bytes = fromBase64(text) else { throw IsochronError.malformed("bytes that are not base64") }
        return .bytes(bytes)
    }

    /// `[commit timestamp, value]`, or null.
    func version() throws -> ServedVersion? {
        if case .null = self { return nil }
        let pair = try items("value")
        guard pair.count >= 2 else { throw IsochronError.malformed("a value without its timestamp") }
        return ServedVersion(ts: try pair[0].timestamp("commit timestamp"), value: try pair[1].value())
    }

    /// `[commit timestamp, transaction]`.
    func origin() throws -> Origin {
        let pair = try items("origin")
        guard pair.count >= 2 else { throw IsochronError.malformed("an origin that is no pair") }
        return Origin(ts: try pair[0].timestamp("commit timestamp"), txId: try pair[1].text("transaction"))
    }

    /// What a write stored: a value, `{ operations }`, or null, which deletes.
    func content() throws -> Content {
        guard case .object(let members) = self, let operations = members["operations"] else {
            return Content(try present?.value())
        }
        let update = Update(operations: try operations.text("operations"))
        if let problem = update.problem { throw IsochronError.malformed("an update that is none: \(problem)") }
        return .update(update)
    }

    /// `[key, commit timestamp, value]`.
    func listedEntry() throws -> ListedEntry {
        let triple = try items("entry")
        guard triple.count >= 3 else { throw IsochronError.malformed("an entry that is no triple") }
        _ = try triple[1].timestamp("commit timestamp")
        return ListedEntry(key: try triple[0].text("key"), value: try triple[2].value())
    }

    func dependency() throws -> Dependency {
        let members = try members("dependency")
        return Dependency(
            key: try members.text("key"), source: try members.count("source"), ts: try members.timestamp("ts"),
            near: members["near"] == .bool(true))
    }

    func dependencies() throws -> [Dependency]? {
        let all = try items("depends").map { try $0.dependency() }
        return all.isEmpty ? nil : all
    }

    func wireSeen() throws -> ExportedSeen {
        let members = try members("seen")
        return ExportedSeen(
            seen: try members.timestamps("seen"), region: try members.text("region"),
            depends: try members["depends"]?.dependencies())
    }

    func freshness() throws -> Freshness {
        let members = try members("freshness")
        return Freshness(
            now: try members.count("now"), stalenessMs: try members.count("stalenessMs"),
            stale: members["stale"] == .bool(true), heldBackBy: try members.required("heldBackBy").present?.heldBack())
    }

    private func heldBack() throws -> HeldBack {
        let members = try members("heldBackBy")
        return HeldBack(
            region: try members.text("region"), node: try members.required("node").present?.text("node"),
            partition: try members.required("partition").present?.text("partition"))
    }

    func limits() throws -> Limits {
        let members = try members("limits")
        return Limits(
            maxKeyBytes: try members.size("maxKeyBytes"), maxValueBytes: try members.size("maxValueBytes"),
            maxKeysPerRequest: try members.size("maxKeysPerRequest"),
            maxRequestBytes: try members.size("maxRequestBytes"))
    }

    func regionEndpoints() throws -> RegionEndpoints {
        let members = try members("region")
        return RegionEndpoints(
            id: try members.text("id"),
            endpoints: try members.required("endpoints").items("endpoints").map { try $0.text("endpoint") })
    }
}

extension Raw.Members {
    func required(_ name: String) throws -> Raw {
        guard let raw = self[name] else { throw IsochronError.malformed("a frame without \(name)") }
        return raw
    }

    func text(_ name: String) throws -> String { try required(name).text(name) }
    func count(_ name: String) throws -> Int64 { try required(name).count(name) }
    func size(_ name: String) throws -> Int { Int(clamping: try count(name)) }
    func timestamp(_ name: String) throws -> Timestamp { try required(name).timestamp(name) }
    func timestamps(_ name: String) throws -> [Timestamp] { try required(name).timestamps(name) }

    /// The nodes and regions that do not answer the node; empty if the frame has none.
    func unresponsive() throws -> Unresponsive {
        guard let members = try self["unresponsive"]?.members("unresponsive") else { return .nothing }
        return Unresponsive(
            nodes: try members.required("nodes").items("nodes").map { try $0.text("node") },
            regions: try members.required("regions").items("regions").map { try $0.text("region") })
    }

    /// A timestamp, with the entries beside it if the frame has them.
    func snapshot(_ name: String) throws -> Snapshot {
        Snapshot(ts: try timestamp(name), deps: try self["deps"]?.timestamps("deps"))
    }
}
