import IsochronSession

/// The commits of an exported session.
extension OwnCommit {
    var raw: Raw {
        var members = Raw.Members()
        members.set("attempts", .array(attempts.map(\.raw)))
        members.set("acknowledged", .integer(acknowledged))
        members.set("ct", .integer(ct))
        if let map = place.map { members.set("map", .integer(map)) }
        if let nodes = place.nodes { members.set("nodes", .array(nodes.map { .integer($0) })) }
        members.set("isDeferred", .bool(isDeferred))
        members.set("sent", sent.raw)
        return .object(members)
    }
}

extension AttemptCohorts {
    fileprivate var raw: Raw {
        var members = Raw.Members()
        members.set("home", .string(home))
        members.set("avoid", .array(avoid.map { .string($0) }))
        members.set("map", .integer(map))
        return .object(members)
    }
}

extension CommitAttempt {
    fileprivate var raw: Raw {
        var members = Raw.Members()
        members.set("txId", .string(txId))
        members.set("snapshot", .integer(snapshot))
        if let deps { members.set("deps", .array(deps.map { .integer($0) })) }
        members.set("hwt", .integer(hwt))
        members.set("sentAfter", .integer(sentAfter))
        members.set("writes", .array(writes.map { .array([.string($0.key), $0.content.raw]) }))
        return .object(members)
    }
}

extension Raw {
    func exportedCommit() throws -> OwnCommit {
        let members = try members("commit")
        let place = CommitPlace(
            map: try members["map"]?.timestamp("map"), nodes: try members["nodes"]?.timestamps("nodes"))
        return OwnCommit(
            sent: try members.required("sent").exportedAttempt(),
            attempts: try members.items("attempts").map { try $0.exportedCohorts() },
            acknowledged: try members.timestamp("acknowledged"), ct: try members.timestamp("ct"), place: place,
            isDeferred: members["isDeferred"] == .bool(true))
    }

    private func exportedCohorts() throws -> AttemptCohorts {
        let members = try members("attempt")
        return AttemptCohorts(
            home: try members.text("home"), avoid: try members.items("avoid").map { try $0.text("avoid") },
            map: try members.timestamp("map"))
    }

    private func exportedAttempt() throws -> CommitAttempt {
        let members = try members("sent")
        return CommitAttempt(
            txId: try members.required("txId").exportedTxId(), snapshot: try members.timestamp("snapshot"),
            deps: try members["deps"]?.timestamps("deps"), hwt: try members.timestamp("hwt"),
            sentAfter: try members.timestamp("sentAfter"),
            writes: try members.items("writes").map { raw in
                let parts = try raw.parts("write", 2)
                return KeyWrite(key: try parts[0].text("key"), content: try parts[1].content())
            })
    }

    func exportedTxId() throws -> TxId {
        let id = try text("transaction")
        guard isTxId(id) else { throw IsochronError.malformed("a transaction that is none") }
        return id
    }
}
